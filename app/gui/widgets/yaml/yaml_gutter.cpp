#include "app/gui/widgets/yaml/yaml_gutter.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "app/gui/widgets/yaml/yaml_editor.h"

namespace millrace::gui {

YamlGutter::YamlGutter(YamlEditor* editor) : QWidget(editor), editor_(*editor) {
    setAccessibleName(tr("Line numbers"));
}

QSize YamlGutter::sizeHint() const {
    return {editor_.gutterWidth(), 0};
}

void YamlGutter::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    editor_.paintGutter(painter, event->rect());
}

bool YamlGutter::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), editor_.problemAt(help->pos(), true), this);
        return true;
    }
    return QWidget::event(event);
}

void YamlGutter::mousePressEvent(QMouseEvent* event) {
    QTextCursor cursor = editor_.cursorForPosition({0, event->pos().y()});
    cursor.movePosition(QTextCursor::StartOfBlock);
    cursor.movePosition(QTextCursor::NextBlock, QTextCursor::KeepAnchor);
    editor_.setTextCursor(cursor);
    editor_.setFocus();
}

}  // namespace millrace::gui
