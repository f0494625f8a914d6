#include "app/gui/pages/runs/details/spec_section.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTextBlock>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/models/run_text.h"
#include "app/gui/pages/runs/parts/fact_view.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/yaml_highlighter.h"

namespace millrace::gui {

SpecSection::SpecSection(QWidget* parent)
    : QWidget(parent),
      stack_(new QStackedWidget(this)),
      text_(new QPlainTextEdit(this)),
      highlighter_(new YamlHighlighter(text_->document())),
      resolved_(new FactView(tr("Resolved spec"), this)),
      list_(new FactView(tr("Changes of the spec"), this)) {
    auto* layout = boxIn<QVBoxLayout>(this, kSpaceSmall, kSectionMargins);
    layout->addWidget(buildBar());
    list_->setVisible(false);
    layout->addWidget(list_);
    text_->setReadOnly(true);
    text_->setFont(monoFont(font()));
    text_->setLineWrapMode(QPlainTextEdit::NoWrap);
    text_->setAccessibleName(tr("Spec as submitted"));
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    stack_->addWidget(text_);
    stack_->addWidget(resolved_);
    layout->addWidget(stack_, 1);
    highlighter_->setColors(colorsOf(palette()));
}

QWidget* SpecSection::buildBar() {
    auto* bar = new QWidget(this);
    auto* row = boxIn<QHBoxLayout>(bar);
    summary_ = styled<QLabel>("dim", bar);
    search_ = new SearchField(tr("Search keys and values"), bar);
    search_->setVisible(false);
    textButton_ = new QToolButton(bar);
    textButton_->setText(tr("As submitted"));
    resolvedButton_ = new QToolButton(bar);
    resolvedButton_->setText(tr("Resolved"));
    resolvedButton_->setToolTip(tr("Every key with its value, defaults filled in"));
    auto* group = new QButtonGroup(bar);
    for (QToolButton* button : {textButton_, resolvedButton_}) {
        button->setCheckable(true);
        group->addButton(button);
    }
    textButton_->setChecked(true);
    row->addWidget(summary_, 1);
    row->addWidget(search_, 1);
    row->addWidget(textButton_);
    row->addWidget(resolvedButton_);
    connect(resolvedButton_, &QToolButton::toggled, this, [this](bool isOn) {
        stack_->setCurrentWidget(isOn ? static_cast<QWidget*>(resolved_) : text_);
        search_->setVisible(isOn);
    });
    connect(search_, &QLineEdit::textChanged, this,
            [this](const QString& text) { resolved_->facts().setSearch(text); });
    return bar;
}

void SpecSection::showResolved(bool isResolved) {
    (isResolved ? resolvedButton_ : textButton_)->setChecked(true);
}

void SpecSection::showDetail(const values::RunDetail& run) {
    if (run.summary.id == runId_ && run.specText == shownText_) {
        return;
    }
    runId_ = run.summary.id;
    shownText_ = run.specText;
    changes_ = changesOf(run);
    text_->setPlainText(qtext(run.specText));
    resolved_->facts().setFacts(specFacts(run));
    QSet<QString> marked;
    for (const SpecChange& change : changes_) {
        marked.insert(change.path);
        for (const auto& [key, value] : run.params) {
            if (qtext(key).startsWith(change.path + '.')) {
                marked.insert(qtext(key));
            }
        }
    }
    resolved_->facts().setMarked(std::move(marked));
    showChanges();
    mark();
}

void SpecSection::showChanges() {
    std::vector<RunFact> facts;
    for (const SpecChange& change : changes_) {
        const QString before = change.before.isEmpty() ? tr("not set") : change.before;
        facts.push_back({change.origin, change.path, before + "  →  " + change.after, ""});
    }
    summary_->setText(changes_.empty() ? tr("The base spec, nothing changed")
                      : changes_.size() == 1
                          ? tr("Changed by %1: 1 key").arg(changes_.front().origin)
                          : tr("%1 keys changed").arg(changes_.size()));
    list_->setVisible(!facts.empty());
    const int rows = std::min<int>(static_cast<int>(facts.size()), 5);
    list_->facts().setFacts(std::move(facts), false);
    list_->setFixedHeight(rows * list_->rowHeight(0) + 4);
}

// Strikes through values of the base that the run replaced, and highlights the entries that did it.
void SpecSection::mark() {
    const ThemeColors& colors = colorsOf(palette());
    QList<QTextEdit::ExtraSelection> marks;
    const auto add = [&](int begin, int end, const QColor& back, bool isReplaced,
                         const QString& tip) {
        if (begin < 0 || end <= begin || end > text_->document()->characterCount()) {
            return;
        }
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(text_->document());
        mark.cursor.setPosition(begin);
        mark.cursor.setPosition(end, QTextCursor::KeepAnchor);
        mark.format.setBackground(back);
        mark.format.setFontStrikeOut(isReplaced);
        mark.format.setToolTip(tip);
        marks.append(mark);
    };
    int first = -1;
    for (const SpecChange& change : changes_) {
        add(change.begin, change.end, colors.warnBack, true,
            tr("%1 sets it to %2").arg(change.origin, change.after));
        add(change.changeBegin, change.changeEnd, colors.goodBack, false, change.origin);
        const int at = change.begin >= 0 ? change.begin : change.changeBegin;
        first = first < 0 ? at : first;
    }
    text_->setExtraSelections(marks);
    if (first >= 0) {
        QTextCursor cursor(text_->document());
        cursor.setPosition(std::min(first, text_->document()->characterCount() - 1));
        cursor.movePosition(QTextCursor::StartOfBlock);
        text_->setTextCursor(cursor);
        text_->centerCursor();
    }
}

void SpecSection::clear() {
    runId_.clear();
    shownText_.clear();
    changes_.clear();
    text_->clear();
    text_->setExtraSelections({});
    resolved_->facts().setFacts({});
    list_->setVisible(false);
    summary_->clear();
}

void SpecSection::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && highlighter_ != nullptr) {
        highlighter_->setColors(colorsOf(palette()));
        mark();
    }
}

}  // namespace millrace::gui
