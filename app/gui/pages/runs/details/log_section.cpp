#include "app/gui/pages/runs/details/log_section.h"

#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/live/log_model.h"
#include "app/gui/widgets/live/log_view.h"
#include "app/gui/widgets/look.h"

namespace millrace::gui {
namespace {

constexpr int kTailLines = 20'000;

}  // namespace

LogSection::LogSection(DaemonBridge& daemon, QWidget* parent)
    : QWidget(parent), daemon_(daemon), model_(new LogModel(this)), view_(new LogView(this)) {
    auto* layout = boxIn<QVBoxLayout>(this);
    layout->addWidget(view_);
    view_->setModel(model_);
    view_->setEmptyText(tr("No log lines yet. They come as soon as the run's workers write some."));
    connect(view_, &LogView::copied, this, &LogSection::copied);
}

LogSection::~LogSection() = default;

void LogSection::setRun(const std::string& id) {
    if (id == id_) {
        return;
    }
    following_.reset();
    model_->clear();
    id_ = id;
    if (isVisible()) {
        open();
    }
}

void LogSection::open() {
    if (id_.empty() || following_ != nullptr) {
        return;
    }
    model_->clear();
    following_ = daemon_.followLogs(id_, kTailLines, [this](const LogsDelta& delta) {
        model_->append(delta.lines, delta.droppedLines);
    });
}

void LogSection::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    open();
}

void LogSection::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    following_.reset();
}

}  // namespace millrace::gui
