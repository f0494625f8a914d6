#include "backend/rank/rank_client.h"

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::rank {

ring::LineLinkOptions RankClient::linkOptions(const RankClientOptions& options) {
    ring::LineLinkOptions link;
    link.socketPath = options.socketPath;
    link.run = options.sender.run;
    link.role = options.sender.role;
    link.attempt = options.sender.attempt;
    link.rank = options.sender.rank;
    link.pid = options.sender.pid;
    link.aliveMs = options.alivePeriod.count();
    link.memoryBytes = options.memoryBytes;
    link.spillPath = options.directory + "/lines.spill";
    link.spillBytes = options.spillBytes;
    link.firstSeq = options.firstSeq;
    link.backoffFirstMs = options.backoffFirst.count();
    link.backoffMostMs = options.backoffMax.count();
    if (!page_) {
        link.onStop = [this] { stop(); };
        return link;
    }
    ring::agreeThrough(*page_, link);
    link.onStop = [this] { stop(); };
    link.onStopBehind = [this, behind = link.onStopBehind](std::int64_t step) {
        stopRequested_ = true;
        behind(step);
        endIfOver();
    };
    return link;
}

void RankClient::stop() {
    stopRequested_ = true;
    if (page_) {
        page_->stop();
    }
    endIfOver();
}

// A stop freezes the furthest step. If the run is not over for this rank now, it cannot be before
// the rank begins that step, and then the rank checks again.
void RankClient::endIfOver() {
    if (!page_ || page_->isOver(static_cast<std::uint64_t>(begun_.load() + 1))) {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(stopEvent_.get(), &one, sizeof one));
    }
}

bool RankClient::begin(std::int64_t step) {
    using Answer = ring::StepPage::Answer;
    Answer answer = Answer::kHeld;
    while (answer == Answer::kHeld) {
        answer = ring::beginStep(*page_, rank_, step);
    }
    if (answer == Answer::kGo) {
        begun_ = step;
        if (stopRequested_) {
            endIfOver();  // the stop came between the two statements
        }
    }
    return answer == Answer::kGo;
}

Result<std::unique_ptr<RankClient>> RankClient::start(const RankClientOptions& options,
                                                      const std::vector<std::string>& preload) {
    std::unique_ptr<RankClient> client(new RankClient());
    client->socketPath_ = options.socketPath;
    client->stopEvent_.reset(::eventfd(0, EFD_CLOEXEC));
    if (!client->stopEvent_.isOpen()) {
        return errnoStatus(errno, "eventfd");
    }
    std::string why;
    client->rank_ = options.sender.rank;
    if (!options.page.empty() && !client->page_.emplace().open(options.page, why)) {
        return resourceExhausted(why);
    }
    client->link_ = std::make_unique<ring::LineLink>(client->linkOptions(options));
    for (const std::string& line : preload) {
        if (!client->link_->preload(line, why)) {
            return invalidArgument("rank line: ", why);
        }
    }
    if (!client->link_->start()) {
        return resourceExhausted("rank socket: no descriptor is left for its thread");
    }
    return client;
}

Result<std::uint64_t> RankClient::send(const Body& body) {
    if (!isKept(body)) {
        return invalidArgument("rank line: ", typeOf(body), " is said by the client itself");
    }
    const std::string text = formatBody(body);
    constexpr std::size_t kFrontBytes = 128;  // space for seq and attempt
    if (text.size() + kFrontBytes >= kMaxLineBytes) {
        return invalidArgument("rank line: ", typeOf(body), " of ", text.size(), " bytes, at most ",
                               kMaxLineBytes);
    }
    std::string why;
    const std::uint64_t seq = link_->send(text, why);
    if (seq == 0) {
        return resourceExhausted(why);
    }
    return seq;
}

Status RankClient::waitAcked(std::chrono::milliseconds timeout) {
    if (!link_->waitEmpty(timeout.count())) {
        return deadlineExceeded(socketPath_, ": ", link_->size(),
                                " lines were not acknowledged by the daemon");
    }
    return okStatus();
}

Status RankClient::finish(const Body& body, std::chrono::milliseconds lease) {
    RETURN_IF_ERROR(send(body).status());
    return waitAcked(lease);
}

void RankClient::setTrouble(const std::string& what, std::string sentence) {
    link_->setTrouble(what, std::move(sentence));
}

Result<std::vector<std::string>> RankClient::unacked() const {
    std::vector<std::string> lines;
    std::string why;
    if (!link_->unacked(lines, why)) {
        return dataLoss(why);
    }
    return lines;
}

}  // namespace millrace::rank
