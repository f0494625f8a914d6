#include "app/gui/bridge/daemon_link.h"

#include <utility>
#include <variant>

#include "backend/core/thread.h"

namespace millrace::gui {
namespace {

// New runs come in bursts when variations are launched: one request reads all their parameters.
constexpr std::chrono::milliseconds kGather{100};

}  // namespace

DaemonLink::DaemonLink(client::DaemonClient& client, Mailbox& mailbox)
    : client_(client), mailbox_(mailbox) {
    session::FollowOptions options;
    options.withTelemetry = options.withNodes = true;
    options.greet = [this] { return greet(); };
    follower_ = std::make_unique<session::Follower>(
        client_, clock_, std::move(options),
        [this](session::FollowEvent event) { take(std::move(event)); });
    thread_ = startThread("mr-link", [this](std::stop_token) { run(); });
}

DaemonLink::~DaemonLink() {
    {
        MutexLock lock(mutex_);
        isStopping_ = true;
        changed_.notifyAll();
    }
    thread_.join();
    follower_.reset();
}

void DaemonLink::run() {
    while (const std::optional<std::uint64_t> connection = waitForWork()) {
        const Status status = ask(*connection);
        if (!status.ok()) {
            giveUp(*connection, status);
        }
    }
}

std::optional<std::uint64_t> DaemonLink::waitForWork() {
    MutexLock lock(mutex_);
    while (!isStopping_ && !(hasSnapshot_ && (!isRead_ || hasNews_))) {
        changed_.wait(mutex_);
    }
    if (!isStopping_ && isRead_) {
        changed_.waitFor(mutex_, kGather);
    }
    hasNews_ = false;
    return isStopping_ ? std::nullopt : std::optional(connection_);
}

Status DaemonLink::ask(std::uint64_t connection) {
    bool isRead = false;
    {
        MutexLock lock(mutex_);
        isRead = isRead_;
    }
    if (isRead) {
        if (mailbox_.takeUnknownNode()) {
            RETURN_IF_ERROR(readFacts());
        }
        return mailbox_.takeUnlisted() ? readChanges() : okStatus();
    }
    RETURN_IF_ERROR(readRuns());
    MutexLock lock(mutex_);
    isRead_ = isRead_ || connection_ == connection;
    return okStatus();
}

// Makes no more requests until the follower has greeted again. If it already has, the failure is of
// the previous connection and is ignored.
void DaemonLink::giveUp(std::uint64_t connection, const Status& status) {
    {
        MutexLock lock(mutex_);
        if (connection_ != connection) {
            return;
        }
        hasSnapshot_ = false;
    }
    follower_->beginAgain(status);
}

// Called on the follower's thread, before the streams are opened.
Status DaemonLink::greet() {
    RETURN_IF_ERROR(readFacts());
    MutexLock lock(mutex_);
    ++connection_;
    hasSnapshot_ = isRead_ = false;
    return okStatus();
}

Status DaemonLink::readFacts() {
    DaemonInfo facts;
    ASSIGN_OR_RETURN(facts.handshake, client_.handshake());
    ASSIGN_OR_RETURN(facts.nodes, client_.nodes());
    {
        MutexLock lock(mutex_);
        facts_ = facts;
    }
    mailbox_.setFacts(std::move(facts));
    return okStatus();
}

// A node joined, was drained or was lost while the connection was up.
void DaemonLink::takeNodes(std::vector<values::NodeInfo> nodes) {
    DaemonInfo facts;
    {
        MutexLock lock(mutex_);
        if (facts_.nodes == nodes) {
            return;
        }
        facts_.nodes = std::move(nodes);
        facts = facts_;
    }
    mailbox_.setFacts(std::move(facts));
}

void DaemonLink::notify() {
    MutexLock lock(mutex_);
    hasNews_ = true;
    changed_.notifyAll();
}

// Called on the follower's threads.
void DaemonLink::take(session::FollowEvent event) {
    if (auto* link = std::get_if<session::LinkChanged>(&event)) {
        mailbox_.setLink(std::move(link->link));
    } else if (auto* changed = std::get_if<session::RunChanged>(&event)) {
        if (mailbox_.addUpdate({std::move(changed->run), false, false})) {
            notify();
        }
    } else if (auto* removed = std::get_if<session::RunRemoved>(&event)) {
        if (mailbox_.addUpdate({std::move(removed->run), true, false})) {
            notify();
        }
    } else if (auto* sampled = std::get_if<session::NodeSampled>(&event)) {
        if (mailbox_.addSample(std::move(sampled->sample))) {
            notify();
        }
    } else if (auto* listed = std::get_if<session::NodesListed>(&event)) {
        takeNodes(std::move(listed->nodes));
    } else if (std::holds_alternative<session::SnapshotEnded>(event)) {
        MutexLock lock(mutex_);
        hasSnapshot_ = true;
        changed_.notifyAll();
    }
}

Status DaemonLink::readRuns() {
    if (!isListed_) {
        RETURN_IF_ERROR(readAll());
    }
    RETURN_IF_ERROR(readChanges());
    if (!std::exchange(isListed_, true)) {
        mailbox_.setListComplete();
    }
    return okStatus();
}

Status DaemonLink::readAll() {
    values::ListRequest request;
    request.withParams = true;
    request.pageSize = kFirstPage;
    bool isFirst = true;
    do {
        ASSIGN_OR_RETURN(values::RunPage page, client_.list(request));
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
    mailbox_.takeUnlisted();  // start here: later arrivals are part of the answer
    values::ListRequest request;
    request.withParams = true;
    request.pageSize = kPage;
    request.changesSince = revision_;
    std::optional<std::uint64_t> first;
    do {
        ASSIGN_OR_RETURN(values::RunPage page, client_.list(request));
        if (page.revision < revision_) {
            isListed_ = false;  // another store: everything known is void
            return readRuns();
        }
        first = first.value_or(page.revision);
        mailbox_.addListed(std::move(page.runs), false);
        request.pageToken = page.nextPageToken;
    } while (!request.pageToken.empty());
    revision_ = *first;
    return okStatus();
}

}  // namespace millrace::gui
