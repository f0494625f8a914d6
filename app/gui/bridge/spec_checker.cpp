#include "app/gui/bridge/spec_checker.h"

#include <functional>
#include <optional>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::gui {

class SpecChecker::Worker {
 public:
    using Report = std::function<void(int revision, LocalCheck check)>;

    explicit Worker(Report report)
        : report_(std::move(report)),
          thread_(startThread("mr-gui-check", [this](std::stop_token) { run(); })) {}

    ~Worker() {
        MutexLock lock(mutex_);
        isStopping_ = true;
        changed_.notifyAll();
    }

    /// Returns true if this replaces a text that was not started yet.
    bool give(values::SpecSource spec, int revision) {
        MutexLock lock(mutex_);
        const bool hadWaiting = waiting_.has_value();
        waiting_.emplace(revision, std::move(spec));
        changed_.notifyAll();
        return hadWaiting;
    }

 private:
    using Job = std::pair<int, values::SpecSource>;

    std::optional<Job> next() {
        MutexLock lock(mutex_);
        while (!waiting_ && !isStopping_) {
            changed_.wait(mutex_);
        }
        return isStopping_ ? std::nullopt : std::exchange(waiting_, std::nullopt);
    }

    bool isOvertaken() {
        MutexLock lock(mutex_);
        return isStopping_ || waiting_.has_value();
    }

    void run() {
        while (const std::optional<Job> job = next()) {
            report_(job->first, checkLocally(job->second, [this] { return isOvertaken(); }));
        }
    }

    const Report report_;
    Mutex mutex_;
    CondVar changed_;
    std::optional<Job> waiting_ MR_GUARDED_BY(mutex_);
    bool isStopping_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

SpecChecker::SpecChecker(QObject* parent) : QObject(parent) {
    worker_ = std::make_unique<Worker>([this](int revision, LocalCheck check) {
        const auto deliver = [this, revision, check = std::move(check)] {
            --numPending_;
            if (revision == newest_) {
                Q_EMIT checked(revision, check);
            }
        };
        QMetaObject::invokeMethod(this, deliver, Qt::QueuedConnection);
    });
}

SpecChecker::~SpecChecker() = default;

void SpecChecker::check(values::SpecSource spec, int revision) {
    newest_ = revision;
    numPending_ += worker_->give(std::move(spec), revision) ? 0 : 1;
}

}  // namespace millrace::gui
