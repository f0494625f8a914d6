#include "app/gui/bridge/delivery_clock.h"

#include <QPointer>
#include <algorithm>
#include <utility>

namespace millrace::gui {

DeliveryClock::DeliveryClock(std::function<void()> deliver) : deliver_(std::move(deliver)) {
    timer_.setSingleShot(true);
    timer_.setTimerType(Qt::PreciseTimer);
    connect(&timer_, &QTimer::timeout, this, &DeliveryClock::fire);
}

void DeliveryClock::wake() {
    if (!isAwake_.exchange(true)) {
        QMetaObject::invokeMethod(this, &DeliveryClock::schedule, Qt::QueuedConnection);
    }
}

void DeliveryClock::schedule() {
    qint64 wait = 0;
    if (sinceStart_.isValid()) {
        wait = std::max(kIntervalMs - sinceStart_.elapsed(), kIntervalMs / 2 - sinceEnd_.elapsed());
    }
    timer_.start(static_cast<int>(std::max<qint64>(0, wait)));
}

void DeliveryClock::fire() {
    sinceStart_.start();
    isAwake_ = false;  // before taking: later arrivals wake it again
    ++numDeliveries_;
    const QPointer<DeliveryClock> self(this);
    deliver_();
    if (self != nullptr) {
        sinceEnd_.start();
    }
}

}  // namespace millrace::gui
