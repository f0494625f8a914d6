#include "app/gui/pages/runs/details/note_section.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

/// Shows other people's Markdown as text only: loads no resources.
class NoteReader final : public QTextBrowser {
 public:
    using QTextBrowser::QTextBrowser;
    QVariant loadResource(int, const QUrl&) override { return {}; }
};

}  // namespace

NoteSection::NoteSection(DaemonBridge& daemon, QWidget* parent)
    : QWidget(parent),
      daemon_(daemon),
      stack_(new QStackedWidget(this)),
      empty_(new EmptyState(this)) {
    build();
}

void NoteSection::build() {
    auto* layout = boxIn<QVBoxLayout>(this, 0);
    error_ = new MessageStrip(this);
    layout->addWidget(error_);
    layout->addWidget(stack_, 1);
    empty_->setText(tr("No note yet"),
                    tr("Write down what you tried and what came out. Markdown."));
    empty_->addButton(tr("Write a note"), this, [this] { edit(); });
    stack_->addWidget(empty_);
    stack_->addWidget(buildReader());
    stack_->addWidget(buildEditor());
}

QWidget* NoteSection::buildReader() {
    auto* page = new QWidget(stack_);
    auto* layout = boxIn<QVBoxLayout>(page, kStyleSpacing, kSectionMargins);
    reader_ = new NoteReader(page);
    reader_->setFrameShape(QFrame::NoFrame);
    reader_->setOpenLinks(false);
    reader_->setAccessibleName(tr("Note"));
    reader_->installEventFilter(this);
    reader_->viewport()->installEventFilter(this);
    auto* change = new QPushButton(tr("Edit  (F2)"), page);
    connect(change, &QPushButton::clicked, this, [this] { edit(); });
    layout->addWidget(reader_, 1);
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    row->addWidget(change);
    layout->addLayout(row);
    return page;
}

QWidget* NoteSection::buildEditor() {
    auto* page = new QWidget(stack_);
    auto* layout = boxIn<QVBoxLayout>(page, kStyleSpacing, kSectionMargins);
    editor_ = new QPlainTextEdit(page);
    editor_->setFont(monoFont(font()));
    editor_->setPlaceholderText(tr("Markdown: **bold**, lists, `code`, links"));
    editor_->setAccessibleName(tr("Note, being edited"));
    editor_->setTabChangesFocus(true);
    editor_->installEventFilter(this);
    layout->addWidget(editor_, 1);
    auto* row = new QHBoxLayout;
    auto* hint = styled<QLabel>("caption", tr("Ctrl+Enter saves, Escape gives up"), page);
    auto* keep = styled<QPushButton>("primary", tr("Save"), page);
    auto* drop = new QPushButton(tr("Cancel"), page);
    row->addWidget(hint, 1);
    row->addWidget(drop);
    row->addWidget(keep);
    layout->addLayout(row);
    connect(keep, &QPushButton::clicked, this, [this] { save(); });
    connect(drop, &QPushButton::clicked, this, [this] { cancel(); });
    return page;
}

bool NoteSection::isEditing() const {
    return stack_->currentIndex() == 2;
}

QString NoteSection::error() const {
    return error_->sentence();
}

void NoteSection::showNote(const std::string& runId, const QString& note) {
    if (runId != id_) {
        id_ = runId;
        note_ = note;
        error_->clearMessage();
        stack_->setCurrentIndex(0);
        show();
    } else if (!isSaving_ && note != note_) {
        note_ = note;
        if (!isEditing()) {
            show();
        }
    }
}

void NoteSection::show() {
    reader_->setMarkdown(note_);
    stack_->setCurrentIndex(note_.trimmed().isEmpty() ? 0 : 1);
}

void NoteSection::edit() {
    if (id_.empty() || isEditing()) {
        return;
    }
    editor_->setPlainText(note_);
    stack_->setCurrentIndex(2);
    editor_->setFocus();
    editor_->moveCursor(QTextCursor::End);
}

void NoteSection::cancel() {
    error_->clearMessage();
    show();
    reader_->setFocus();
}

void NoteSection::save() {
    const QString before = note_, written = editor_->toPlainText();
    error_->clearMessage();
    note_ = written;
    show();
    if (written == before) {
        return;
    }
    isSaving_ = true;
    daemon_.setNote(id_, written.toStdString(), this,
                    [this, id = id_, before, written](Result<values::RunSummary> reply) {
                        const std::string_view why =
                            reply.ok() ? std::string_view() : messageOf(reply.status());
                        taken(id, before, written,
                              reply.ok() ? QString() : qtext(std::string(why)));
                    });
}

void NoteSection::taken(const std::string& runId, const QString& before, const QString& written,
                        const QString& error) {
    isSaving_ = false;
    if (runId != id_ || error.isEmpty()) {
        return;
    }
    note_ = before;
    error_->setMessage(Tone::kBad, tr("The note was not saved: %1").arg(error));
    if (!isEditing()) {
        edit();
        editor_->setPlainText(written);
    }
}

bool NoteSection::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::MouseButtonDblClick && watched == reader_->viewport()) {
        edit();
        return true;
    }
    if (event->type() != QEvent::KeyPress) {
        return QWidget::eventFilter(watched, event);
    }
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool isEnter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (watched == reader_ && isEnter) {
        edit();
        return true;
    }
    if (watched == editor_ && isEnter && key->modifiers() == Qt::ControlModifier) {
        save();
        return true;
    }
    if (watched == editor_ && key->key() == Qt::Key_Escape) {
        cancel();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace millrace::gui
