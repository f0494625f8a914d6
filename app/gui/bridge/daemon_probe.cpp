#include "app/gui/bridge/daemon_probe.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::gui {
namespace {

using Time = std::chrono::steady_clock::time_point;

ProbeState stateOf(const Result<values::Handshake>& reply) {
    ProbeState state;
    if (reply.ok()) {
        state.answer = ProbeState::Answer::kReachable;
        state.version = reply->version;
        return state;
    }
    const absl::StatusCode code = reply.status().code();
    const bool isRefused = code == absl::StatusCode::kFailedPrecondition ||
                           code == absl::StatusCode::kPermissionDenied ||
                           code == absl::StatusCode::kUnauthenticated;
    state.answer = isRefused ? ProbeState::Answer::kRefused : ProbeState::Answer::kUnreachable;
    state.sentence = std::string(messageOf(reply.status()));
    return state;
}

}  // namespace

class DaemonProbe::Parts {
 public:
    Parts(DaemonProbe* probe, MakeClient makeClient)
        : probe_(probe),
          makeClient_(std::move(makeClient)),
          thread_(startThread("mr-probe", [this](std::stop_token) { run(); })) {}
    ~Parts() {
        {
            MutexLock lock(mutex_);
            isStopping_ = true;
            if (asked_ != nullptr) {
                asked_->cancelAll();
            }
            changed_.notifyAll();
        }
        thread_.join();
    }

    void setAddresses(const std::vector<std::string>& addresses) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        std::erase_if(daemons_, [&](const auto& known) {
            return std::ranges::find(addresses, known.first) == addresses.end();
        });
        for (const std::string& address : addresses) {
            daemons_.try_emplace(address);
        }
        changed_.notifyAll();
    }
    void askNow() MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        for (auto& [address, daemon] : daemons_) {
            daemon.due = Time::min();
            daemon.pauseMs = kIntervalMs;
        }
        changed_.notifyAll();
    }
    ProbeState state(const std::string& address) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        const auto found = daemons_.find(address);
        return found == daemons_.end() ? ProbeState{} : found->second.state;
    }

 private:
    struct Daemon {
        ProbeState state;
        Time due = Time::min();
        int pauseMs = kIntervalMs;
    };

    void run() {
        while (true) {
            const std::string address = next();
            if (address.empty()) {
                return;
            }
            answered(address, ask(address));
        }
    }
    // The daemon to probe next; "" when the probe ends.
    std::string next() MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        while (!isStopping_) {
            const auto first = std::ranges::min_element(
                daemons_, [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
            if (first == daemons_.end()) {
                changed_.wait(mutex_);
                continue;
            }
            const auto now = std::chrono::steady_clock::now();
            if (first->second.due <= now) {
                return first->first;
            }
            changed_.waitFor(mutex_, std::chrono::duration_cast<std::chrono::milliseconds>(
                                         first->second.due - now) +
                                         std::chrono::milliseconds(1));
        }
        return "";
    }
    ProbeState ask(const std::string& address) MR_EXCLUDES(mutex_) {
        const std::unique_ptr<client::DaemonClient> client = makeClient_(address);
        if (client == nullptr) {
            return stateOf(invalidArgument("'", address, "' is not an address"));
        }
        {
            MutexLock lock(mutex_);
            if (isStopping_) {
                return {};
            }
            asked_ = client.get();
        }
        const ProbeState state = stateOf(client->handshake());
        MutexLock lock(mutex_);
        asked_ = nullptr;
        return state;
    }
    void answered(const std::string& address, ProbeState state) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        const auto found = daemons_.find(address);
        if (found == daemons_.end() || isStopping_) {
            return;
        }
        Daemon& daemon = found->second;
        const bool isThere = state.answer == ProbeState::Answer::kReachable;
        daemon.due = std::chrono::steady_clock::now() + std::chrono::milliseconds(daemon.pauseMs);
        daemon.pauseMs = isThere ? kIntervalMs : std::min(daemon.pauseMs * 2, kLongestMs);
        const bool isSame = state.answer == daemon.state.answer;
        state.sinceMs = isSame ? daemon.state.sinceMs : clock_.wallMs();
        if (state == daemon.state) {
            return;
        }
        daemon.state = std::move(state);
        QMetaObject::invokeMethod(
            probe_,
            [probe = probe_, text = QString::fromStdString(address)] {
                Q_EMIT probe->changed(text);
            },
            Qt::QueuedConnection);
    }

    DaemonProbe* const probe_;
    const MakeClient makeClient_;
    const SystemClock clock_;
    Mutex mutex_;
    CondVar changed_;
    std::map<std::string, Daemon> daemons_ MR_GUARDED_BY(mutex_);
    client::DaemonClient* asked_ MR_GUARDED_BY(mutex_) = nullptr;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

DaemonProbe::DaemonProbe(MakeClient makeClient, QObject* parent)
    : QObject(parent), parts_(std::make_unique<Parts>(this, std::move(makeClient))) {}

DaemonProbe::~DaemonProbe() = default;

void DaemonProbe::setAddresses(const std::vector<std::string>& addresses) {
    parts_->setAddresses(addresses);
}

void DaemonProbe::askNow() {
    parts_->askNow();
}

ProbeState DaemonProbe::state(const std::string& address) const {
    return parts_->state(address);
}

}  // namespace millrace::gui
