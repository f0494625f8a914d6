#include "app/gui/pages/launch/editor_panel.h"

#include <QHBoxLayout>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/find_bar.h"

namespace millrace::gui {
namespace {

constexpr int kRowsShown = 4;
constexpr int kPlaceRole = Qt::UserRole;
constexpr int kWarningRole = Qt::UserRole + 1;

class ProblemDelegate final : public QStyledItemDelegate {
 public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {100, option.fontMetrics.height() + 8};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const ThemeColors& colors = colorsOf(option.palette);
        const bool isChosen = (option.state & QStyle::State_Selected) != 0;
        const bool isWarning = index.data(kWarningRole).toBool();
        painter->fillRect(option.rect, isChosen ? colors.selection : colors.surface);
        QRect rect = option.rect.adjusted(kSpaceMedium, 0, -kSpaceMedium, 0);
        const QRectF mark(rect.left(), rect.center().y() - 5, 11, 11);
        paintMark(*painter, mark, isWarning ? Mark::kDot : Mark::kCross,
                  isWarning ? colors.warn : colors.bad);
        rect.setLeft(rect.left() + 20);
        painter->setFont(monoFont(option.font));
        painter->setPen(colors.dim);
        const QString place = index.data(kPlaceRole).toString();
        painter->drawText(rect, Qt::AlignVCenter, place);
        rect.setLeft(rect.left() +
                     std::max(64, painter->fontMetrics().horizontalAdvance(place) + 12));
        painter->setFont(option.font);
        painter->setPen(colors.text);
        const QString text = index.data(Qt::DisplayRole).toString();
        painter->drawText(rect, Qt::AlignVCenter,
                          option.fontMetrics.elidedText(text, Qt::ElideRight, rect.width()));
    }
};

}  // namespace

EditorPanel::EditorPanel(QWidget* parent)
    : QFrame(parent),
      editor_(new YamlEditor(this)),
      find_(new FindBar(editor_, this)),
      list_(new QListWidget(this)),
      help_(new ElidedLabel(this, Qt::ElideRight)),
      check_(new ElidedLabel(this, Qt::ElideRight)) {
    auto* layout = boxIn<QVBoxLayout>(this, 0);
    layout->addWidget(find_);
    layout->addWidget(editor_, 1);
    layout->addWidget(list_);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(kSpaceMedium, kSpaceTiny, kSpaceMedium, kSpaceTiny);
    setLook(*help_, "dim");
    check_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    foot->addWidget(help_, 3);
    foot->addWidget(check_, 2);
    layout->addLayout(foot);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setItemDelegate(new ProblemDelegate(list_));
    list_->setAccessibleName(tr("Problems"));
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->hide();
    connect(list_, &QListWidget::itemActivated, this,
            [this] { editor_->goToProblem(list_->currentRow()); });
    connect(list_, &QListWidget::itemClicked, this,
            [this] { editor_->goToProblem(list_->currentRow()); });
    connect(editor_, &YamlEditor::findWanted, this, [this] { openFind(); });
    auto* timer = new QTimer(this);
    timer->setSingleShot(true);
    timer->setInterval(60);
    connect(editor_, &QPlainTextEdit::cursorPositionChanged, timer, qOverload<>(&QTimer::start));
    connect(timer, &QTimer::timeout, this, [this] { showHelp(); });
}

void EditorPanel::showHelp() {
    const KeyHelp help = editor_->keyHelp();
    QStringList parts;
    if (!help.path.isEmpty()) {
        parts << help.path << help.kind;
        if (!help.fallback.isEmpty()) {
            parts << tr("default %1").arg(help.fallback);
        }
        parts << help.doc;
    }
    help_->setFullText(parts.join(QStringLiteral("  \u00b7  ")));
}

void EditorPanel::showProblems(const std::vector<EditorProblem>& problems) {
    editor_->setProblems(problems);
    list_->clear();
    numErrors_ = numWarnings_ = 0;
    for (const EditorProblem& problem : problems) {
        ++(problem.isWarning ? numWarnings_ : numErrors_);
        auto* item = new QListWidgetItem(problem.message, list_);
        item->setData(kPlaceRole,
                      problem.line > 0
                          ? QStringLiteral("%1:%2").arg(problem.line).arg(problem.column)
                          : QString());
        item->setData(kWarningRole, problem.isWarning);
        item->setToolTip(problem.message);
    }
    const int rows = std::min<int>(kRowsShown, static_cast<int>(problems.size()));
    list_->setFixedHeight(rows * (fontMetrics().height() + 8) + 4);
    list_->setVisible(rows > 0);
}

void EditorPanel::showCheck(const CheckState& state) {
    if (state.isEmpty) {
        showCheck(Tone::kNeutral, {});
    } else if (numErrors_ > 0) {
        showCheck(Tone::kBad, numErrors_ == 1
                                  ? tr("1 problem (F8 goes to it)")
                                  : tr("%1 problems (F8 goes to the next)").arg(numErrors_));
    } else if (!state.isConnected) {
        showCheck(Tone::kWarn, tr("Columns are not checked: no daemon is connected"));
    } else if (!state.trouble.isEmpty()) {
        showCheck(Tone::kWarn, tr("Columns are not checked: %1").arg(state.trouble));
    } else if (state.isChecked && numWarnings_ > 0) {
        showCheck(Tone::kWarn, numWarnings_ == 1
                                   ? tr("No mistakes, 1 warning")
                                   : tr("No mistakes, %1 warnings").arg(numWarnings_));
    } else if (state.isChecked) {
        showCheck(Tone::kGood, tr("No problems"));
    } else {
        showCheck(Tone::kNeutral, tr("Checking\u2026"));
    }
}

void EditorPanel::showCheck(Tone tone, const QString& sentence) {
    check_->setFullText(sentence);
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText,
                    tone == Tone::kNeutral ? colorsOf(palette()).dim : toneColor(tone, palette()));
    check_->setPalette(colors);
}

void EditorPanel::openFind() {
    find_->open();
}

}  // namespace millrace::gui
