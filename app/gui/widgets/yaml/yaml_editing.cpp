// How a YamlEditor's keys edit its text.
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTextBlock>
#include <QUrl>
#include <algorithm>

#include "app/gui/widgets/yaml/completion_popup.h"
#include "app/gui/widgets/yaml/yaml_editor.h"

namespace millrace::gui {
namespace {

int indentOf(const QString& line) {
    int i = 0;
    while (i < line.size() && line[i] == u' ') {
        ++i;
    }
    return i;
}

bool isTypedText(const QKeyEvent& event) {
    const QString text = event.text();
    const auto command =
        event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier);
    return !text.isEmpty() && text[0].isPrint() && command == Qt::NoModifier;
}

}  // namespace

void YamlEditor::keyPressEvent(QKeyEvent* event) {
    if (keyForPopup(event) || keyForText(event)) {
        event->accept();
        return;
    }
    const bool isTyping =
        isTypedText(*event) || (event->key() == Qt::Key_Backspace && popup_->isOpen());
    isTyped_ = isTyping;
    QPlainTextEdit::keyPressEvent(event);
    if (isTyping) {
        typingTimer_.start();
    }
}

bool YamlEditor::keyForPopup(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && (popup_->isOpen() || popup_->hasHint())) {
        popup_->dismiss();
        return true;
    }
    if (!popup_->isOpen()) {
        return false;
    }
    switch (event->key()) {
        case Qt::Key_Down:
            popup_->move(1);
            return true;
        case Qt::Key_Up:
            popup_->move(-1);
            return true;
        case Qt::Key_PageDown:
            popup_->move(8);
            return true;
        case Qt::Key_PageUp:
            popup_->move(-8);
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_Tab:
            if (popup_->current() != nullptr && (event->modifiers() & Qt::ControlModifier) == 0) {
                accept(Completion(*popup_->current()));
                return true;
            }
            return false;
        default:
            return false;
    }
}

bool YamlEditor::keyForText(QKeyEvent* event) {
    const auto modifiers = event->modifiers() & ~Qt::KeypadModifier;
    const int key = event->key();
    if (modifiers == Qt::ControlModifier && key == Qt::Key_Space) {
        complete();
    } else if (modifiers == Qt::ControlModifier && key == Qt::Key_Slash) {
        toggleComment();
    } else if (modifiers == Qt::ControlModifier && key == Qt::Key_F) {
        Q_EMIT findWanted();
    } else if (key == Qt::Key_F8) {
        goToNextProblem(modifiers == Qt::ShiftModifier ? -1 : 1);
    } else if (key == Qt::Key_Tab && modifiers == Qt::NoModifier) {
        indentLines(1);
    } else if (key == Qt::Key_Backtab) {
        indentLines(-1);
    } else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && modifiers == Qt::NoModifier) {
        breakLine();
    } else if (key == Qt::Key_Backspace && modifiers == Qt::NoModifier && !popup_->isOpen()) {
        return backspaceIndent();
    } else if (key == Qt::Key_Home &&
               (modifiers == Qt::NoModifier || modifiers == Qt::ShiftModifier)) {
        goHome(modifiers == Qt::ShiftModifier);
    } else {
        return false;
    }
    return true;
}

void YamlEditor::breakLine() {
    QTextCursor cursor = textCursor();
    const QString before = cursor.block().text().left(cursor.positionInBlock());
    const QString trimmed = before.trimmed();
    int indent = indentOf(before);  // plus 2 for each "- " before a key
    for (int i = indent; trimmed.startsWith(QStringLiteral("- ")) && i + 1 < before.size() &&
                         before[i] == u'-' && before[i + 1] == u' ';
         i += 2) {
        indent += trimmed.endsWith(u':') || trimmed.contains(QStringLiteral(": ")) ? 2 : 0;
    }
    const bool opens = trimmed.endsWith(u':') || trimmed.endsWith(u'{') || trimmed.endsWith(u'[') ||
                       trimmed.endsWith(QStringLiteral(": |")) ||
                       trimmed.endsWith(QStringLiteral(": >"));
    cursor.beginEditBlock();
    cursor.insertText(u'\n' + QString(indent + (opens ? 2 : 0), u' '));
    cursor.endEditBlock();
    setTextCursor(cursor);
    ensureCursorVisible();
}

bool YamlEditor::backspaceIndent() {
    QTextCursor cursor = textCursor();
    const int column = cursor.positionInBlock();
    const QString before = cursor.block().text().left(column);
    if (cursor.hasSelection() || column == 0 || !before.trimmed().isEmpty()) {
        return false;
    }
    const int back = column % 2 == 0 ? 2 : 1;  // to the next even column
    cursor.movePosition(QTextCursor::Left, QTextCursor::KeepAnchor, back);
    cursor.removeSelectedText();
    return true;
}

void YamlEditor::goHome(bool isSelecting) {
    QTextCursor cursor = textCursor();
    const int indent = indentOf(cursor.block().text());
    const int target = cursor.positionInBlock() == indent ? 0 : indent;
    cursor.setPosition(cursor.block().position() + target,
                       isSelecting ? QTextCursor::KeepAnchor : QTextCursor::MoveAnchor);
    setTextCursor(cursor);
}

void YamlEditor::indentLines(int direction) {
    QTextCursor cursor = textCursor();
    if (direction > 0 && !cursor.hasSelection()) {
        cursor.insertText(QString(2 - cursor.positionInBlock() % 2, u' '));
        return;
    }
    const int first = document()->findBlock(cursor.selectionStart()).blockNumber();
    const int end = cursor.selectionEnd() - (cursor.hasSelection() ? 1 : 0);
    const int last = std::max(first, document()->findBlock(end).blockNumber());
    cursor.beginEditBlock();
    for (int number = first; number <= last; ++number) {
        const QTextBlock block = document()->findBlockByNumber(number);
        QTextCursor line(block);
        if (direction > 0 && !block.text().trimmed().isEmpty()) {
            line.insertText(QStringLiteral("  "));
        } else if (direction < 0) {
            const int blanks = std::min(2, indentOf(block.text()));
            line.movePosition(QTextCursor::Right, QTextCursor::KeepAnchor, blanks);
            line.removeSelectedText();
        }
    }
    cursor.endEditBlock();
}

void YamlEditor::toggleComment() {
    QTextCursor cursor = textCursor();
    const int first = document()->findBlock(cursor.selectionStart()).blockNumber();
    const int end = cursor.selectionEnd() - (cursor.hasSelection() ? 1 : 0);
    const int last = std::max(first, document()->findBlock(end).blockNumber());
    int indent = 1'000'000;  // the smallest of the lines, where all marks go
    bool areComments = true;
    for (int line = first; line <= last; ++line) {
        const QString text = document()->findBlockByNumber(line).text();
        if (!text.trimmed().isEmpty()) {
            indent = std::min(indent, indentOf(text));
            areComments = areComments && text.trimmed().startsWith(u'#');
        }
    }
    cursor.beginEditBlock();
    for (int line = first; line <= last; ++line) {
        const QTextBlock block = document()->findBlockByNumber(line);
        const QString text = block.text();
        if (text.trimmed().isEmpty()) {
            continue;
        }
        QTextCursor edit(block);
        if (areComments) {
            const int mark = static_cast<int>(text.indexOf(u'#'));
            edit.setPosition(block.position() + mark);
            edit.movePosition(QTextCursor::Right, QTextCursor::KeepAnchor,
                              text.mid(mark + 1, 1) == QStringLiteral(" ") ? 2 : 1);
            edit.removeSelectedText();
        } else {
            edit.setPosition(block.position() + indent);
            edit.insertText(QStringLiteral("# "));
        }
    }
    cursor.endEditBlock();
}

void YamlEditor::complete() {
    isTyped_ = true;
    suggest(true);
    updateHint();
}

void YamlEditor::suggest(bool isAsked) {
    const bool wasTyped = isTyped_;
    isTyped_ = false;  // one key press makes one suggestion
    if (!wasTyped || isReadOnly() || textCursor().hasSelection() ||
        document()->characterCount() > kSpecTextMax) {
        return;
    }
    CompletionList list = completionsAt(text(), textCursor().position(), columns_);
    const bool isWhole = list.items.size() == 1 && list.items[0].label == list.prefix;
    if ((!isAsked && list.prefix.isEmpty()) || isWhole) {
        list.items.clear();
    }
    completionBegin_ = list.begin;
    completionEnd_ = list.end;
    QTextCursor start = textCursor();
    start.setPosition(list.begin);
    popup_->showItems(std::move(list.items), cursorRect(start).translated(viewport()->pos()));
}

void YamlEditor::updateHint() {
    const bool isPossible = hasFocus() && document()->characterCount() <= kSpecTextMax;
    const auto hint = isPossible ? callHintAt(text(), textCursor().position()) : std::nullopt;
    QTextCursor start = textCursor();
    if (hint) {
        start.setPosition(std::min(hint->callPlace, document()->characterCount() - 1));
    }
    popup_->showHint(hint, cursorRect(start).translated(viewport()->pos()));
}

void YamlEditor::accept(const Completion& completion) {
    QTextCursor cursor = textCursor();
    cursor.beginEditBlock();
    cursor.setPosition(completionBegin_);  // the typed prefix is replaced
    cursor.setPosition(std::max(completionEnd_, textCursor().position()), QTextCursor::KeepAnchor);
    cursor.insertText(completion.insert);
    cursor.endEditBlock();
    cursor.movePosition(QTextCursor::Left, QTextCursor::MoveAnchor, completion.cursorBack);
    popup_->dismiss();
    setTextCursor(cursor);
    ensureCursorVisible();
    // After "key: " the values are offered at once.
    isTyped_ = completion.insert.endsWith(QStringLiteral(": "));
    if (isTyped_) {
        suggest(true);
    }
    typingTimer_.start();
}

void YamlEditor::focusOutEvent(QFocusEvent* event) {
    popup_->dismiss();
    QPlainTextEdit::focusOutEvent(event);
}

bool YamlEditor::canInsertFromMimeData(const QMimeData* source) const {
    return source->hasUrls() || source->hasText();
}

void YamlEditor::insertFromMimeData(const QMimeData* source) {
    if (source->hasUrls() && source->urls().front().isLocalFile()) {
        Q_EMIT fileDropped(source->urls().front().toLocalFile());
        return;
    }
    QString text = source->text();
    text.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));  // from Windows
    QString problem = problemWithText(text);
    if (problem.isEmpty() && text.size() + document()->characterCount() > kSpecTextMax) {
        problem = tr("With this text the spec would be longer than 1 MB.");
    }
    if (!problem.isEmpty()) {
        Q_EMIT refused(problem);
        return;
    }
    textCursor().insertText(text);
    ensureCursorVisible();
}

}  // namespace millrace::gui
