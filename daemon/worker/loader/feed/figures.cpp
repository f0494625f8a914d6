#include "daemon/worker/loader/feed/figures.h"

#include <string>
#include <utility>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "backend/frame/frame.h"
#include "backend/rank/frame_traffic_json.h"
#include "backend/text/json.h"
#include "backend/values/metric_names.h"
#include "daemon/worker/loader/process.h"

namespace millrace::loader {
namespace {

namespace metric = values::metric;

constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kAccountEvery{10};
// The end comes a moment after the last figures: what was read in it is not a rate.
constexpr double kLeastSeconds = 0.5;

// Returns the work of data workers for a feed, as the part "data_workers" of a run's receipt
// (docs/formats/rank-protocol.md).
Json accountJson(const SegmentsElsewhere::Account& account, const values::FrameTraffic& traffic,
                 const frame::FrameLayout& layout) {
    Json columns = Json::array();
    for (std::size_t c = 0; c < account.codecs.size(); ++c) {
        columns.push_back(
            {{"name", layout.columns()[c].name}, {"codec", account.codecs[c].text()}});
    }
    Json json = {
        {"segments", account.segments},
        {"cpu_seconds", account.cpuSeconds},
        {"frame_bytes", account.frameBytes},
        {"network_bytes", account.networkBytes},
        {"direct_bytes", account.directBytes},
        {"carried_bytes", account.carriedBytes},
        {"link",
         {{"mb_per_second", account.linkBytesPerSecond / 1e6}, {"columns", std::move(columns)}}}};
    if (!traffic.isEmpty()) {
        json["traffic"] = rank::trafficJson(traffic);
    }
    return json;
}

void logAccount(const SegmentsElsewhere::Account& account) {
    logDebug("feed: data workers", {{"segments", account.segments},
                                    {"cpuSeconds", account.cpuSeconds},
                                    {"frameBytes", account.frameBytes},
                                    {"networkBytes", account.networkBytes},
                                    {"directBytes", account.directBytes},
                                    {"carriedBytes", account.carriedBytes}});
}

void logTraffic(const values::FrameTraffic& traffic) {
    for (const values::NodeTraffic& node : traffic.nodes) {
        logDebug("feed: frames of a node", {{"node", node.node},
                                            {"sentBytes", node.sent.bytes},
                                            {"sentRawBytes", node.sent.rawBytes},
                                            {"receivedBytes", node.received.bytes},
                                            {"receivedRawBytes", node.received.rawBytes}});
    }
    for (const values::LinkTraffic& link : traffic.slowest) {
        logDebug("feed: a slow link", {{"from", link.fromNode},
                                       {"fromWorker", link.fromWorker},
                                       {"to", link.toNode},
                                       {"toWorker", link.toWorker},
                                       {"mbPerSecond", link.bytesPerSecond() / 1e6},
                                       {"awaitedSeconds", link.awaitedSeconds}});
    }
}

}  // namespace

bool FeedFigures::isDue() const {
    return SteadyClock::now() - last_ >= kEvery;
}

void FeedFigures::note(const Producer& train) {
    const segment::SequencerTotals totals = train.totals();
    at_.epoch = train.position().epoch;
    at_.step = job_.startStep + totals.microBatches / job_.spec.microBatchesPerStep();
    at_.rows = totals.rowsDelivered;
}

void FeedFigures::send(const Producer* train, SegmentsElsewhere* elsewhere,
                       const frame::FrameLayout* layout, bool isLast) {
    const auto now = SteadyClock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const bool hasWorkers = elsewhere != nullptr && job_.hasDataWorkers;
    const auto workers = elsewhere != nullptr ? elsewhere->figures() : SegmentsElsewhere::Figures();
    const std::int64_t read = counters_.read(segment::Stage::kRead).rows;
    const std::int64_t kept = counters_.read(segment::Stage::kRecipe).rows;
    const auto rate = [seconds](std::int64_t rows) { return static_cast<double>(rows) / seconds; };
    const double cpu = cpuSeconds();
    if (train != nullptr) {
        note(*train);
    }
    rank::Metrics metrics = at_;
    metrics.timeMs = SystemClock().wallMs();
    if (seconds >= kLeastSeconds || !hasTold_) {
        metrics.values = {
            {metric::kLoaderRowsReadPerSecond, rate(read - lastRead_ + workers.rowsRead)},
            {metric::kLoaderRowsKeptPerSecond, rate(kept - lastKept_ + workers.rowsKept)},
            {metric::kLoaderCpuPercent, 100 * (cpu - lastCpu_) / seconds}};
    }
    hasTold_ = true;
    stages_.add(seconds, isLast, metrics.values);
    if (hasWorkers) {
        addWorkers(workers, metrics.values);
    }
    if (elsewhere != nullptr) {
        sendTraffic(workers.traffic);
    }
    // A run without data workers may have ranks on other nodes.
    if (hasWorkers || (elsewhere != nullptr && !traffic_.isEmpty())) {
        sendAccount(*elsewhere, *layout, isLast);
    }
    last_ = now;
    lastRead_ = read;
    lastKept_ = kept;
    lastCpu_ = cpu;
    owner_.figures(std::move(metrics));
}

void FeedFigures::sendTraffic(const values::FrameTraffic& traffic) {
    if (traffic != traffic_) {
        traffic_ = traffic;
        owner_.receipt({{"traffic", rank::trafficJson(traffic_)}});
    }
}

// Sent at intervals, so that little of it is missing if a feed dies.
void FeedFigures::sendAccount(SegmentsElsewhere& elsewhere, const frame::FrameLayout& layout,
                              bool isLast) {
    const auto now = SteadyClock::now();
    if (!isLast && now - lastAccount_ < kAccountEvery) {
        return;
    }
    lastAccount_ = now;
    SegmentsElsewhere::Account account = elsewhere.account();
    if (account != account_) {
        account_ = std::move(account);
        owner_.receipt({{"data_workers", accountJson(account_, traffic_, layout)}});
    }
    if (isLast) {
        logAccount(account_);
        logTraffic(traffic_);
    }
}

}  // namespace millrace::loader
