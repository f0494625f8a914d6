#include "app/gui/bridge/daemon_link.h"

#include <utility>

#include "backend/core/thread.h"

namespace millrace::gui {
namespace {

using session::LinkState;

// New runs come in heaps when variations are launched: their parameters are asked for together.
constexpr std::chrono::milliseconds kGather{100};
// A newer daemon may be replaced by one that can be talked to.
constexpr std::chrono::milliseconds kRefusedPause{5'000};

bool isRefusal(const Status& status) {
    return status.code() == absl::StatusCode::kFailedPrecondition ||
           status.code() == absl::StatusCode::kPermissionDenied ||
           status.code() == absl::StatusCode::kUnauthenticated;
}

}  // namespace

DaemonLink::DaemonLink(client::DaemonClient& client, Mailbox& mailbox)
    : client_(client), mailbox_(mailbox) {
    link_.sinceMs = clock_.wallMs();
    thread_ = startThread("mr-link", [this](std::stop_token) { run(); });
}

DaemonLink::~DaemonLink() {
    {
        MutexLock lock(mutex_);
        isStopping_ = true;
        changed_.notifyAll();
    }
    thread_.join();
    closeStreams();
}

void DaemonLink::retryNow() {
    MutexLock lock(mutex_);
    isHurried_ = true;
    changed_.notifyAll();
}

void DaemonLink::run() {
    while (!isStopping()) {
        const Status status = converse();
        closeStreams();
        if (!isStopping()) {
            failed(status);
        }
    }
}

bool DaemonLink::isStopping() const {
    MutexLock lock(mutex_);
    return isStopping_;
}

void DaemonLink::setLink(LinkState state, const std::string& sentence) {
    if (link_.state != state) {
        link_.sinceMs = clock_.wallMs();
    }
    link_.state = state;
    link_.sentence = sentence;
    link_.tries = backoff_.tries();
    mailbox_.setLink(link_);
}

void DaemonLink::failed(const Status& status) {
    const std::chrono::milliseconds pause =
        isRefusal(status) ? kRefusedPause : std::chrono::milliseconds(backoff_.nextMs());
    setLink(isRefusal(status) ? LinkState::kRefused : LinkState::kReconnecting,
            std::string(messageOf(status)));
    MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + pause;
    while (!isStopping_ && !isHurried_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            break;
        }
        changed_.waitFor(mutex_, left);
    }
    isHurried_ = false;
}

// From hello to the end of a stream; what ended it.
Status DaemonLink::converse() {
    RETURN_IF_ERROR(greet());
    openStreams();
    RETURN_IF_ERROR(readRuns());
    while (true) {
        RETURN_IF_ERROR(attend());
    }
}

Status DaemonLink::greet() {
    DaemonFacts facts;
    ASSIGN_OR_RETURN(facts.handshake, client_.handshake());
    ASSIGN_OR_RETURN(facts.nodes, client_.nodes());
    mailbox_.setFacts(std::move(facts));
    backoff_.reset();
    setLink(LinkState::kConnected, "");
    return okStatus();
}

void DaemonLink::openStreams() {
    {
        MutexLock lock(mutex_);
        runsEnded_ = telemetryEnded_ = std::nullopt;
        hasSnapshot_ = false;
    }
    runs_ =
        client_.watchRuns({}, {[this](client::RunUpdate update) { takeUpdate(std::move(update)); },
                               [this](const Status& status) { ended(status, false); }});
    telemetry_ = client_.watchTelemetry(
        "", {[this](client::NodeSample sample) { takeSample(std::move(sample)); },
             [this](const Status& status) { ended(status, true); }});
}

void DaemonLink::closeStreams() {
    for (auto* stream : {&runs_, &telemetry_}) {
        if (*stream != nullptr) {
            (*stream)->cancel();
        }
    }
    runs_.reset();
    telemetry_.reset();
}

// These streams have no end of their own.
void DaemonLink::ended(const Status& status, bool isTelemetry) {
    MutexLock lock(mutex_);
    (isTelemetry ? telemetryEnded_ : runsEnded_) =
        status.ok() ? unavailable("the daemon at ", client_.address(), " said goodbye") : status;
    changed_.notifyAll();
}

void DaemonLink::notify() {
    MutexLock lock(mutex_);
    hasNews_ = true;
    changed_.notifyAll();
}

void DaemonLink::takeUpdate(client::RunUpdate update) {
    if (update.isSnapshotEnd) {
        MutexLock lock(mutex_);
        hasSnapshot_ = true;
        changed_.notifyAll();
        return;
    }
    if (mailbox_.addUpdate(std::move(update))) {
        notify();
    }
}

void DaemonLink::takeSample(client::NodeSample sample) {
    if (mailbox_.addSample(std::move(sample))) {
        notify();
    }
}

// Why the streams are of no use any more. A daemon without telemetry is lived with.
std::optional<Status> DaemonLink::endedLocked() const {
    if (isStopping_) {
        return cancelled("the connection was given up");
    }
    const bool isWithout =
        telemetryEnded_.has_value() && telemetryEnded_->code() == absl::StatusCode::kUnimplemented;
    return runsEnded_.has_value() || isWithout ? runsEnded_ : telemetryEnded_;
}

Status DaemonLink::readRuns() {
    if (!isListed_) {
        RETURN_IF_ERROR(readAll());
    }
    RETURN_IF_ERROR(waitForSnapshot());
    RETURN_IF_ERROR(readChanges());
    if (!std::exchange(isListed_, true)) {
        mailbox_.setListComplete();
    }
    return okStatus();
}

Status DaemonLink::waitForSnapshot() {
    MutexLock lock(mutex_);
    while (!hasSnapshot_) {
        if (const auto ended = endedLocked()) {
            return *ended;
        }
        changed_.wait(mutex_);
    }
    return okStatus();
}

Status DaemonLink::readAll() {
    client::ListRequest request;
    request.withParams = true;
    request.pageSize = kFirstPage;
    bool isFirst = true;
    do {
        ASSIGN_OR_RETURN(client::RunPage page, client_.list(request));
        if (isFirst) {
            revision_ = page.revision;
        }
        mailbox_.addListed(std::move(page.runs), std::exchange(isFirst, false));
        request.pageToken = page.nextPageToken;
        request.pageSize = kPage;
    } while (!request.pageToken.empty());
    return okStatus();
}

Status DaemonLink::readChanges() {
    mailbox_.takeUnlisted();  // from here on: what comes now is part of the answer
    client::ListRequest request;
    request.withParams = true;
    request.pageSize = kPage;
    request.changesSince = revision_;
    std::optional<std::uint64_t> first;
    do {
        ASSIGN_OR_RETURN(client::RunPage page, client_.list(request));
        if (page.revision < revision_) {
            isListed_ = false;  // another store: what is known is void
            return readRuns();
        }
        first = first.value_or(page.revision);
        mailbox_.addListed(std::move(page.runs), false);
        request.pageToken = page.nextPageToken;
    } while (!request.pageToken.empty());
    revision_ = *first;
    return okStatus();
}

// Waits for what has to be done beside the streams, and does it.
Status DaemonLink::attend() {
    {
        MutexLock lock(mutex_);
        while (!hasNews_ && !endedLocked()) {
            changed_.wait(mutex_);
        }
        if (!endedLocked() && hasNews_) {
            changed_.waitFor(mutex_, kGather);
        }
        hasNews_ = false;
        if (const auto ended = endedLocked()) {
            return *ended;
        }
    }
    if (mailbox_.takeUnknownNode()) {
        RETURN_IF_ERROR(greet());
    }
    return mailbox_.takeUnlisted() ? readChanges() : okStatus();
}

}  // namespace millrace::gui
