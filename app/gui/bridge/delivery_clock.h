#pragma once
// DeliveryClock: triggers the bridge's deliveries: at most one every 50 ms, and none while nothing
// waits.
//
// Threads: wake() from any; everything else the GUI thread. After a quiet time a delivery is made
// at once. If deliveries themselves take long, each is followed by a pause of half the interval.
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <atomic>
#include <functional>

namespace millrace::gui {

class DeliveryClock final : public QObject {
    Q_OBJECT

 public:
    static constexpr int kIntervalMs = 50;

    explicit DeliveryClock(std::function<void()> deliver);
    /// Call when something waits for delivery.
    void wake();
    std::uint64_t numDeliveries() const { return numDeliveries_; }

 private:
    void schedule();
    void fire();

    const std::function<void()> deliver_;
    std::atomic<bool> isAwake_{false};
    QTimer timer_;
    QElapsedTimer sinceStart_, sinceEnd_;
    std::uint64_t numDeliveries_ = 0;
};

}  // namespace millrace::gui
