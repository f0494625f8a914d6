#include "daemon/agent/run/done_words.h"

#include <algorithm>
#include <limits>

#include "backend/core/log.h"
#include "backend/feed/link/step_page.h"
#include "backend/rank/frame_traffic_json.h"
#include "backend/stream/state/stream_state.h"
#include "daemon/agent/crew/gang.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000'000;
constexpr char kCosts[] = "costs", kEnded[] = "ended";

// Returns "ranks", "feed" or "relays".
const char* roleOf(const std::string& worker) {
    return job::rankOf(worker).has_value() ? "ranks" : worker == job::kFeed ? "feed" : "relays";
}

// Sums the time; for memory takes the largest process.
void addCost(Json& costs, const std::string& role, double cpuSeconds, std::int64_t peakBytes) {
    const Json before = jsonMember(costs, role);
    costs[role] = {
        {"cpu_seconds", jsonReal(before, "cpu_seconds") + cpuSeconds},
        {"peak_memory_bytes", std::max(jsonInt(before, "peak_memory_bytes"), peakBytes)}};
}

// Returns whether a rank that was done at `step` had read the whole stream. `said`: its `done`
// message, or null.
bool isAtEnd(const Json& said, std::int64_t step, const AttemptExtent& extent) {
    stream::StreamState state;
    const bool isKnown = state.read(jsonString(said, "state")).empty();
    return (isKnown && state.cursor.epoch >= extent.epochs) ||
           (extent.maxSteps > 0 && step >= extent.maxSteps);
}

}  // namespace

void DoneWords::begin(int attempt) {
    attempt_ = attempt;
    words_ = Json::object();
    retryNs_ = 0;
}

void DoneWords::read(int attempt) {
    begin(attempt);
    Json said = directory_.readDone(attempt);
    if (said.is_object()) {
        words_ = std::move(said);
    }
}

void DoneWords::say(const std::string& worker, const rank::Done& done) {
    Json params = Json::object();
    for (const auto& [key, value] : done.params) {
        params[key] = value;
    }
    words_[worker] = {
        {"step", done.step}, {"rows", done.rows}, {"state", done.state}, {"params", params}};
    write();
}

void DoneWords::account(const std::string& worker, const Json& receipt) {
    const Json& dataWorkers = jsonMember(receipt, "data_workers");
    if (worker == job::kFeed && dataWorkers.is_object()) {
        words_[worker]["data_workers"] = dataWorkers;
        write();
    }
    const Json& ended = jsonMember(receipt, kEnded);
    if (worker == job::rankName(0) && ended.is_object()) {
        words_[kEnded] = ended;
        write();
    }
}

// Each attempt's messages are in its own directory. Returns the sums over them, and the last
// attempt's link.
Json DoneWords::dataWorkers() const {
    Json all;
    values::FrameTraffic traffic;
    for (int attempt = 1; attempt <= attempt_; ++attempt) {
        const Json words = attempt == attempt_ ? words_ : directory_.readDone(attempt);
        const Json& one = jsonMember(jsonMember(words, job::kFeed), "data_workers");
        if (!one.is_object()) {
            continue;
        }
        const double cpuSeconds = jsonReal(all, "cpu_seconds") + jsonReal(one, "cpu_seconds");
        Json sum = {{"cpu_seconds", cpuSeconds}, {"link", jsonMember(one, "link")}};
        for (const char* count :
             {"segments", "frame_bytes", "network_bytes", "direct_bytes", "carried_bytes"}) {
            sum[count] = jsonInt(all, count) + jsonInt(one, count);
        }
        traffic.add(rank::trafficOf(jsonMember(one, "traffic")));
        if (!traffic.isEmpty()) {
            sum["traffic"] = rank::trafficJson(traffic);
        }
        all = std::move(sum);
    }
    return all;
}

void DoneWords::cost(const engines::State& gang) {
    Json costs = Json::object();
    for (const engines::WorkerState& worker : gang.workers) {
        addCost(costs, roleOf(worker.name), worker.cpuSeconds, worker.peakMemoryBytes);
    }
    words_[kCosts] = std::move(costs);
    write();
}

Json DoneWords::costs() const {
    Json all;
    for (int attempt = 1; attempt <= attempt_; ++attempt) {
        const Json words = attempt == attempt_ ? words_ : directory_.readDone(attempt);
        for (const auto& [role, cost] : jsonMember(words, kCosts).items()) {
            addCost(all, role, jsonReal(cost, "cpu_seconds"), jsonInt(cost, "peak_memory_bytes"));
        }
    }
    return all;
}

bool DoneWords::retry() {
    if (retryNs_ != 0 && clock_.steadyNs() >= retryNs_) {
        write();
    }
    return !isUnwritten();
}

void DoneWords::write() {
    const bool isFirst = retryNs_ == 0;
    const Status status = directory_.writeDone(attempt_, words_);
    retryNs_ = status.ok() ? 0 : clock_.steadyNs() + kRetryNs;
    if (!status.ok() && isFirst) {
        logWarn("run: done not written",
                {{"folder", directory_.path()}, {"why", messageOf(status)}});
    }
}

std::set<std::int64_t> DoneWords::ranks() const {
    std::set<std::int64_t> out;
    for (const auto& [worker, said] : words_.items()) {
        if (const auto rank = job::rankOf(worker)) {
            out.insert(*rank);
        }
    }
    return out;
}

std::set<std::int64_t> DoneWords::idleRanks(const AttemptExtent& extent,
                                            const RunHealth& health) const {
    std::set<std::int64_t> idle;
    for (int rank = 0; rank < std::min(extent.ranks, values::kRanksTold); ++rank) {
        const Json& said = jsonMember(words_, job::rankName(rank));
        const std::int64_t step = std::max(jsonInt(said, "step"), health.stepOf(rank));
        const bool isHeard = said.is_object() || !extent.isAdopted;
        if (isHeard && step <= extent.resumeStep && !isAtEnd(said, step, extent)) {
            idle.insert(rank);
        }
    }
    return idle;
}

// Maps each step to the rank with the least number that was done there.
std::map<std::int64_t, std::int64_t> DoneWords::ranksByStep() const {
    std::map<std::int64_t, std::int64_t> all;
    for (const std::int64_t rank : ranks()) {
        const Json& said = jsonMember(words_, job::rankName(static_cast<int>(rank)));
        all.emplace(jsonInt(said, "step"), rank);
    }
    return all;
}

std::optional<std::pair<std::int64_t, std::int64_t>> DoneWords::leftEarly(
    const AttemptExtent& extent) const {
    const auto all = ranksByStep();
    if (all.empty()) {
        return std::nullopt;
    }
    const auto [step, rank] = *all.begin();
    const Json& said = jsonMember(words_, job::rankName(static_cast<int>(rank)));
    return isAtEnd(said, step, extent) ? std::nullopt : std::optional(std::pair(rank, step));
}

std::optional<std::int64_t> DoneWords::leftBy(const std::optional<engines::State>& gang,
                                              const std::set<std::int64_t>& idle) const {
    if (!gang.has_value()) {
        return std::nullopt;
    }
    const std::set<std::int64_t> done = ranks();
    const auto left =
        std::find_if(gang->workers.begin(), gang->workers.end(), [&](const auto& one) {
            return one.rank >= 0 && one.exitCode == 0 &&
                   (!done.contains(one.rank) || idle.contains(one.rank));
        });
    const bool isLeft = left != gang->workers.end() && engines::hasLivingRank(*gang);
    return isLeft ? std::optional<std::int64_t>(left->rank) : std::nullopt;
}

void DoneWords::cut(const engines::State& gang) {
    bool hasNew = false;
    for (const engines::WorkerState& worker : gang.workers) {
        const bool isLiving = worker.rank >= 0 && !worker.exitCode.has_value();
        if (isLiving && words_.contains(worker.name)) {
            words_[worker.name]["is_cut"] = hasNew = true;
        }
    }
    if (hasNew) {
        write();
    }
}

std::set<std::string> DoneWords::cutRanks() const {
    std::set<std::string> out;
    for (const auto& [worker, said] : words_.items()) {
        if (jsonBool(said, "is_cut")) {
            out.insert(worker);
        }
    }
    return out;
}

std::int64_t DoneWords::stepOfRank0() const {
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    return jsonInt(jsonMember(words_, "rank0"), "step", kNever);
}

std::int64_t DoneWords::stepOfAll() const {
    const auto all = ranksByStep();
    return all.empty() ? 0 : all.begin()->first;
}

std::string DoneWords::reason() const {
    const auto all = ranksByStep();
    if (all.size() > 1) {
        const auto first = *all.begin(), last = *all.rbegin();
        return strCat("rank", first.second, " left the stream after step ", first.first, ", rank",
                      last.second, " after step ", last.first, "; the receipt ends at step ",
                      first.first);
    }
    return jsonString(jsonMember(jsonMember(words_, "rank0"), "params"), "end_reason");
}

void DoneWords::fill(int ranks, ReceiptInputs& inputs) const {
    const bool areAllDone = this->ranks().size() >= static_cast<std::size_t>(ranks);
    const Json& ended = jsonMember(words_, kEnded);
    inputs.endedStep = jsonInt(ended, "step");
    inputs.endedRows = jsonInt(ended, "rows");
    inputs.endedState = jsonString(ended, "state");
    inputs.endedByAll =
        ring::StepPage::endedByAll(directory_.paths().attempt(attempt_).stepPage(), ranks);
    if (areAllDone) {
        const std::int64_t first = ranksByStep().begin()->second;
        const Json& said = jsonMember(words_, job::rankName(static_cast<int>(first)));
        inputs.state = jsonString(said, "state");
        inputs.rowsTrained = jsonInt(said, "rows", -1);
    }
    const Json& params = jsonMember(jsonMember(words_, "rank0"), "params");
    inputs.evalOrderHash = jsonString(params, "eval_order_hash");
    inputs.evalState = jsonString(params, "eval_state");
    inputs.weightsHash = jsonString(params, "weights_hash");
    inputs.dataWorkers = dataWorkers();
    inputs.costs = costs();
}

Status storeReceipt(runs::RunStore& store, const std::string& id, ReceiptInputs inputs) {
    if (!inputs.hasStream) {
        return okStatus();
    }
    if (inputs.state.empty() && !inputs.endedState.empty()) {
        ASSIGN_OR_RETURN(const auto attempts, store.attempts(id));
        const std::int64_t settled = attempts.empty() ? 0 : attempts.back().settledStep;
        if (std::max(settled, inputs.endedByAll) >= inputs.endedStep) {
            inputs.state = inputs.endedState;
            inputs.rowsTrained = inputs.endedRows;
        }
    }
    if (inputs.state.empty()) {
        ASSIGN_OR_RETURN(const auto checkpoints, store.checkpoints(id));
        if (checkpoints.empty()) {
            return okStatus();
        }
        inputs.state = checkpoints.front().cursor;
    }
    ASSIGN_OR_RETURN(inputs.plan, store.document(id, values::LargeDocument::kPlan));
    ASSIGN_OR_RETURN(const std::string receipt, makeReceipt(inputs));
    return store.setReceipt(id, receipt);
}

void addLastWords(const Workplace& place, const std::string& run, const engines::State& gang,
                  AttemptReports& facts) {
    for (const engines::WorkerState& worker : gang.workers) {
        std::string words = job::lastWordsOf(place.logs, {run, facts.attempt, worker.name});
        if (words.empty() && !facts.errors.contains(worker.name)) {
            facts.engineWords[worker.name] =
                place.nodes.words(worker.node, gangKey(run, facts.attempt), worker.name);
        }
        facts.lastWords[worker.name] = std::move(words);
    }
}

}  // namespace millrace::agent
