#include "daemon/worker/relay/relay.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "backend/filesystem/paths.h"
#include "backend/ring/feed_server.h"
#include "backend/system/network_interface.h"
#include "backend/values/metric_names.h"
#include "daemon/transport/join_file.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/relay/follow_link.h"
#include "daemon/worker/relay/frame_fetcher.h"
#include "daemon/worker/relay/group_tunnel.h"
#include "daemon/worker/relay/relay_ring.h"

namespace millrace::relay {
namespace {

namespace metric = values::metric;
using SteadyClock = std::chrono::steady_clock;

constexpr int kTickMs = 250;
// For the leading feed's join file, which is written when that feed has opened its data.
constexpr std::chrono::seconds kFileTime{60};
// How long a leading feed that does not answer is retried before it counts as gone.
constexpr std::chrono::seconds kAwayTime{10};

struct Stream {
    spec::RunSpec spec;
    std::string streamHash, planHash;
};

Result<Stream> streamOf(const v1::FollowAnswer& answer) {
    ASSIGN_OR_RETURN(const Json json, parseJson(answer.spec(), "the leading feed's spec"));
    Stream stream;
    ASSIGN_OR_RETURN(stream.spec, spec::RunSpec::fromJson(json));
    stream.streamHash = answer.stream_hash();
    stream.planHash = answer.plan_hash();
    return stream;
}

struct Reader {
    std::shared_ptr<ring::RingWriter> writer;
    std::unique_ptr<RelayRing> ring;  ///< null: it has ended
    bool hasAll() const { return ring == nullptr && writer->hasTakenEnd(); }
};

class Relay {
 public:
    Relay(const loader::FeedJob& job, const std::string& buildId, loader::FeedEvents& events,
          loader::FeedOwner& owner)
        : job_(job), buildId_(buildId), events_(events), owner_(owner) {}

    Status run();

 private:
    using Key = std::pair<std::string, int>;  ///< stream, rank
    bool isEndWanted() { return events_.isSignalled() || owner_.wantsEnd(); }
    Status awaitLead();
    Status openLink();
    Status openFetcher(const transport::JoinFile& file);
    Status checkLink();
    Status open(const v1::FollowAnswer& answer);
    Status admits(const ring::FeedHello& hello) const;
    void handle(const loader::FeedEvent& event);
    bool isDone() const;
    void sendMetrics();

    const loader::FeedJob& job_;
    const std::string& buildId_;
    loader::FeedEvents& events_;
    loader::FeedOwner& owner_;
    /// budget_ holds rings as large as they must be, spareBudget_ wider ones.
    std::unique_ptr<MemoryBudget> budget_, spareBudget_;
    RelayCounters counters_;
    const std::string session_ = randomBytes(16);
    std::unique_ptr<FrameFetcher> fetcher_;  ///< null: data workers are on this machine
    std::unique_ptr<FollowLink> link_;
    SteadyClock::time_point lastSeen_ = SteadyClock::now(), lastTry_;
    Status away_ = unavailable("it did not answer");  ///< why the lead cannot be reached
    Stream stream_;
    std::vector<int> ranks_;
    std::map<Key, Reader> readers_;
    std::unique_ptr<ring::FeedServer> server_;
    std::unique_ptr<GroupEntry> group_;  ///< null: no group is carried
    SteadyClock::time_point lastMetrics_ = SteadyClock::now();
    std::uint64_t lastBytes_ = 0;
};

Status Relay::openLink() {
    lastTry_ = SteadyClock::now();
    ASSIGN_OR_RETURN(const transport::JoinFile file, transport::JoinFile::read(job_.follow));
    if (job_.feed > 0 && file.attempt != job_.attempt) {
        return failedPrecondition(job_.follow, ": of attempt ", file.attempt, ", this is attempt ",
                                  job_.attempt);
    }
    RETURN_IF_ERROR(openFetcher(file));
    v1::JoinRequest request = requestOf(file, buildId_);
    request.set_relay(session_);
    request.set_relay_join(fetcher_ != nullptr ? fetcher_->join() : "");
    ASSIGN_OR_RETURN(link_,
                     FollowLink::open(
                         file, request, [this] { events_.push({loader::FeedEvent::Kind::kWake}); },
                         [fetcher = fetcher_.get()](const v1::MovedFrames& moved) {
                             if (fetcher != nullptr) {
                                 fetcher->moved(moved);
                             }
                         }));
    return okStatus();
}

/// Workers of a stream over TCP send frames straight to this relay. On one machine the leading feed
/// shares memory with them, which is faster.
Status Relay::openFetcher(const transport::JoinFile& file) {
    if (file.isUnix() || fetcher_ != nullptr) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const Address lead, Address::parse(file.address));
    const std::string host = addressFacing(lead.host);
    auto fetcher = FrameFetcher::start(host);
    if (fetcher.ok()) {
        fetcher_ = *std::move(fetcher);
    } else {
        logWarn("relay: data workers cannot connect; all frames come from the leading feed",
                {{"host", host}, {"why", messageOf(fetcher.status())}});
    }
    return okStatus();
}

/// OK as long as the lead is connected, or may come back; kCancelled when its stream is over.
Status Relay::checkLink() {
    if (link_ != nullptr && !link_->isOver()) {
        lastSeen_ = link_->answer() ? SteadyClock::now() : lastSeen_;
    } else if (link_ != nullptr) {
        const Status end = link_->end();
        link_.reset();
        if (end.ok()) {
            return cancelled("the leading feed has come to its end");
        }
        if (!isPassing(end)) {
            return end;
        }
        away_ = end;
        logInfo("relay: the leading feed is away", {{"why", messageOf(end)}});
    } else if (SteadyClock::now() - lastTry_ >= kTryAgain) {
        const Status opened = openLink();
        if (!opened.ok() && !isPassing(opened)) {
            return opened;
        }
        away_ = opened.ok() ? away_ : opened;
    }
    const auto patience = server_ == nullptr ? kFileTime : kAwayTime;
    // A feed that is killed leaves its file; a feed that ends removes it.
    const bool isEnded = server_ != nullptr && link_ == nullptr && absl::IsNotFound(away_);
    if (isEnded || SteadyClock::now() - lastSeen_ > patience) {
        return unavailable(job_.follow, ": the feed that writes it is gone, or never came (",
                           messageOf(away_), ")");
    }
    return okStatus();
}

Status Relay::open(const v1::FollowAnswer& answer) {
    ASSIGN_OR_RETURN(stream_, streamOf(answer));
    const auto worldSize = static_cast<int>(stream_.spec.train.ranks);
    ranks_ = job_.ranks;
    if (ranks_.empty() || ranks_.front() < 0 || ranks_.back() >= worldSize) {
        return invalidArgument("--ranks: name those served here, of 0 to ", worldSize - 1);
    }
    ASSIGN_OR_RETURN(const transport::JoinFile file, transport::JoinFile::read(job_.follow));
    const loader::RelayRings rings(stream_.spec.resources.memoryLimitMb);
    spareBudget_ = std::make_unique<MemoryBudget>(rings.spare);
    budget_ = std::make_unique<MemoryBudget>(rings.all - rings.spare);
    ring::FeedServerOptions server;
    server.socketPath = job_.feedSocket;
    server.streamHash = stream_.streamHash;
    server.planHash = stream_.planHash;
    loader::tellInputs(stream_.spec, server);
    server.microRows = stream_.spec.batch.microRows;
    server.stepBatches = stream_.spec.microBatchesPerStep();
    server.worldSize = worldSize;
    server.attempt = file.attempt;
    server.ring.budget = server.evalRing.budget = budget_.get();
    server.ring.spare = server.evalRing.spare = spareBudget_.get();
    ASSIGN_OR_RETURN(
        server_,
        ring::FeedServer::start(
            std::move(server),
            [this](const ring::FeedHello& hello, std::shared_ptr<ring::RingWriter> writer) {
                const Status admitted = admits(hello);
                if (admitted.ok()) {
                    events_.push({loader::FeedEvent::Kind::kOpened, hello, std::move(writer)});
                }
                return admitted;
            },
            [this](const ring::FeedHello& hello) {
                events_.push({loader::FeedEvent::Kind::kClosed, hello});
            }));
    if (!job_.groupSocket.empty()) {
        ASSIGN_OR_RETURN(group_, GroupEntry::open(job_.groupSocket, job_.follow, buildId_));
    }
    logInfo("relay: serves", {{"ranks", ranks_.size()}, {"attempt", file.attempt}});
    return okStatus();
}

// Called on the server's thread.
Status Relay::admits(const ring::FeedHello& hello) const {
    if (!std::binary_search(ranks_.begin(), ranks_.end(), hello.rank)) {
        return invalidArgument("hello: rank ", hello.rank, " is not one of those that this relay ",
                               "serves (--ranks)");
    }
    if (hello.stream == "eval" && !stream_.spec.eval) {
        return invalidArgument("hello: the spec has no eval section");
    }
    return okStatus();
}

void Relay::handle(const loader::FeedEvent& event) {
    const Key key(event.hello.stream, event.hello.rank);
    if (event.kind == loader::FeedEvent::Kind::kOpened) {
        Reader& reader = readers_[key];
        reader.ring.reset();  // the lead must see the earlier ring end first
        reader.writer = event.writer;
        ring::FeedHello asRank = event.hello;
        asRank.ledgerRing = 0;  // the leading feed's own number
        std::string hello = ring::helloLine(asRank);
        hello.pop_back();
        reader.ring = std::make_unique<RelayRing>(RelayRingOptions{job_.follow, buildId_, session_,
                                                                   fetcher_.get(), std::move(hello),
                                                                   reader.writer, &counters_});
        logDebug("relay: reader", {{"stream", key.first}, {"rank", key.second}});
    } else if (event.kind == loader::FeedEvent::Kind::kClosed) {
        const auto reader = readers_.find(key);
        // A reader that came back has replaced the one with the end reported here.
        if (reader != readers_.end() && reader->second.writer->isPeerGone()) {
            reader->second.ring.reset();
        }
    }
}

bool Relay::isDone() const {
    if (server_ == nullptr) {
        return false;
    }
    std::size_t done = 0;
    for (const auto& [key, reader] : readers_) {
        const bool isTrain = key.first == "train";
        if (isTrain ? !reader.hasAll() : reader.ring != nullptr) {
            return false;
        }
        done += isTrain ? 1 : 0;
    }
    return done == ranks_.size() && (group_ == nullptr || group_->numOpen() == 0);
}

void Relay::sendMetrics() {
    const auto now = SteadyClock::now();
    const double seconds = std::chrono::duration<double>(now - lastMetrics_).count();
    const std::uint64_t bytes = counters_.bytes;
    rank::Metrics metrics;
    metrics.timeMs = SystemClock().wallMs();
    metrics.values = {
        {metric::kLoaderRelayBytesPerSecond, static_cast<double>(bytes - lastBytes_) / seconds}};
    lastMetrics_ = now;
    lastBytes_ = bytes;
    owner_.figures(std::move(metrics));
    if (fetcher_ != nullptr && link_ != nullptr && !link_->isOver()) {
        v1::FollowWord word = fetcher_->traffic();
        word.set_busy_us(static_cast<std::uint64_t>(counters_.busy.ns() / 1000));
        link_->report(word);
    }
}

Status Relay::awaitLead() {
    logInfo("relay: follows", {{"file", job_.follow}});
    while (!isEndWanted()) {
        RETURN_IF_ERROR(checkLink());
        const auto answer = link_ == nullptr ? std::nullopt : link_->answer();
        if (answer) {
            return open(*answer);
        }
        events_.wait(kTickMs, owner_.fd());
    }
    return okStatus();
}

Status Relay::run() {
    RETURN_IF_ERROR(awaitLead());
    Status lead;
    while (!isEndWanted() && !isDone() && lead.ok()) {
        for (const loader::FeedEvent& event : events_.wait(kTickMs, owner_.fd())) {
            handle(event);
        }
        lead = checkLink();
        const auto answer = link_ == nullptr ? std::nullopt : link_->answer();
        if (answer && (answer->stream_hash() != stream_.streamHash ||
                       answer->plan_hash() != stream_.planHash)) {
            lead = failedPrecondition(job_.follow, ": the leading feed came back with another ",
                                      "stream or plan");
        }
        if (SteadyClock::now() - lastMetrics_ >= std::chrono::seconds(1)) {
            sendMetrics();
        }
    }
    const bool isAllGiven = isDone();
    const bool isNobodyHere = readers_.empty();
    readers_.clear();
    server_.reset();
    if (isAllGiven) {
        return okStatus();
    }
    if (isEndWanted()) {
        return owner_.wantsEnd() ? owner_.endWanted() : loader::toldToEnd();
    }
    if (lead.code() == absl::StatusCode::kCancelled) {
        return isNobodyHere ? okStatus() : unavailable(messageOf(lead));
    }
    return lead;
}

}  // namespace

int runRelay(const loader::FeedJob& job, const std::string& buildId, loader::FeedEvents& events,
             loader::FeedOwner& owner) {
    const Status status = Relay(job, buildId, events, owner).run();
    owner.finish();
    return status.ok() ? kExitDone : loader::fail(status);
}

}  // namespace millrace::relay
