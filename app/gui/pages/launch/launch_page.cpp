#include "app/gui/pages/launch/launch_page.h"

#include <QVBoxLayout>

#include "app/gui/pages/launch/launch_parts.h"

namespace millrace::gui {

LaunchPage::LaunchPage(const PageContext& context, QWidget* parent) : Page(context, parent) {
    auto* layout = boxIn<QVBoxLayout>(this);
    parts_ = std::make_unique<Parts>(*this, this->context());
    layout->addWidget(parts_->widget());
}

LaunchPage::~LaunchPage() = default;

std::vector<Command> LaunchPage::commands() {
    return parts_->commands();
}

void LaunchPage::arrive(const Destination& destination) {
    if (destination.changed != nullptr) {
        parts_->openRun(destination.changed);
    }
    parts_->focusEditor();
}

bool LaunchPage::isSettled() const {
    return parts_->isSettled();
}

void LaunchPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    parts_->setInSight(true);
}

void LaunchPage::hideEvent(QHideEvent* event) {
    Page::hideEvent(event);
    parts_->setInSight(false);
}

void LaunchPage::saveState(QSettings& settings) const {
    parts_->saveState(settings);
}

void LaunchPage::restoreState(QSettings& settings) {
    parts_->restoreState(settings);
}

void LaunchPage::openFile(const QString& path) {
    parts_->openFile(path);
}

}  // namespace millrace::gui
