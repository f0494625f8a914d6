#include "app/gui/pages/page.h"

#include <QShortcut>
#include <utility>

namespace millrace::gui {

void Page::addKey(const QKeySequence& key, QWidget* where, std::function<void()> run) {
    auto* shortcut = new QShortcut(key, where);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, std::move(run));
}

}  // namespace millrace::gui
