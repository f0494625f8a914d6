#include "daemon/worker/loader/feed/owner.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/segment/arrow_version.h"

namespace millrace::loader {
namespace {

constexpr std::chrono::seconds kAckTime{5};

}  // namespace

Result<std::unique_ptr<FeedOwner>> DaemonOwner::connect(const FeedJob& job) {
    rank::RankClientOptions options;
    options.socketPath = job.rankSocket;
    options.directory = job.directory;
    options.sender = {job.run, job.attempt, "feed", job.feed, ::getpid()};
    // A feed that replaces a failed one: its lines have higher numbers than all of that one's.
    constexpr std::uint64_t kSeqsOfOne = 1'000'000'000;
    const char* replaced = std::getenv("MR_REPLACED");
    options.firstSeq =
        1 + kSeqsOfOne * (replaced == nullptr ? 0 : std::strtoul(replaced, nullptr, 10));
    auto owner = std::make_unique<DaemonOwner>();
    ASSIGN_OR_RETURN(owner->client_, rank::RankClient::start(std::move(options)));
    rank::ReceiptLine versions;
    versions.receipt["packages"]["arrow"] = segment::arrowVersion();
    RETURN_IF_ERROR(owner->client_->send(std::move(versions)).status());
    return std::unique_ptr<FeedOwner>(std::move(owner));
}

void DaemonOwner::failed(const Status& error) {
    const auto sent = client_->send(rank::ErrorLine{std::string(messageOf(error))});
    if (!sent.ok()) {
        logWarn("feed: the error cannot be reported", {{"reason", messageOf(sent.status())}});
    }
}

void DaemonOwner::figures(rank::Metrics figures) {
    const auto sent = client_->send(std::move(figures));
    if (!sent.ok()) {
        logWarn("feed: metrics cannot be sent", {{"reason", messageOf(sent.status())}});
    }
}

void DaemonOwner::receipt(Json part) {
    const auto sent = client_->send(rank::ReceiptLine{std::move(part)});
    if (!sent.ok()) {
        logWarn("feed: its part of the receipt cannot be sent",
                {{"reason", messageOf(sent.status())}});
    }
}

void DaemonOwner::finish() {
    const Status acked = client_->waitAcked(kAckTime);
    if (!acked.ok()) {
        logWarn("feed: ends with lines not acknowledged", {{"reason", messageOf(acked)}});
    }
}

Result<std::unique_ptr<FeedOwner>> ProcessOwner::open(int fd, const std::string& socketPath) {
    auto owner = std::make_unique<ProcessOwner>();
    if (fd >= 0) {
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
            return invalidArgument("--life-fd: ", fd, " is not a descriptor that was handed over");
        }
        owner->life_.reset(fd);
        owner->directory_ = std::filesystem::path(socketPath).parent_path().string();
    }
    return std::unique_ptr<FeedOwner>(std::move(owner));
}

// Bytes on the line mean nothing; only its end does.
bool ProcessOwner::wantsEnd() {
    if (!life_.isOpen()) {
        return false;
    }
    pollfd line{life_.get(), POLLIN, 0};
    if (::poll(&line, 1, 0) <= 0) {
        return false;
    }
    char bytes[256];
    return (line.revents & POLLIN) == 0 || ::read(life_.get(), bytes, sizeof bytes) == 0;
}

void ProcessOwner::finish() {
    if (wantsEnd()) {
        std::error_code kept;  // if the directory is not empty
        std::filesystem::remove(directory_, kept);
    }
}

}  // namespace millrace::loader
