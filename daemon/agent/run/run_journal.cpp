#include "daemon/agent/run/run_journal.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "backend/job/attempt_paths.h"
#include "backend/rank/frame_traffic_json.h"

namespace millrace::agent {
namespace {

// Bounds on the package versions that a worker may report.
constexpr std::size_t kMostPackages = 2'000, kMostPackageBytes = 200;
constexpr std::size_t kMostScriptBytes = std::size_t{32} << 10;
constexpr std::int64_t kStateRetryNs = 1'000'000'000;

}  // namespace

RunJournal::RunJournal(Workplace& place, runs::RunRecord run)
    : place_(place), run_(std::move(run)), directory_(place.runsDir, run_.id) {}

bool RunJournal::setState(values::RunState state, const std::string& reason,
                          std::int64_t settledStep) {
    const bool isRepeated = retryNs_ > 0 && state == run_.state;
    run_.state = state;
    why_ = reason;
    const Status status =
        place_.store.setState(run_.id, {state, reason, run_.attempt, settledStep});
    if (!status.ok() && !isRepeated) {
        logError("run: state not stored",
                 {{"run", run_.id}, {"state", values::nameOf(state)}, {"why", messageOf(status)}});
    }
    retryNs_ = status.ok() ? 0 : place_.clock.steadyNs() + kStateRetryNs;
    place_.live.touch();
    return status.ok();
}

bool RunJournal::tellRunning() {
    if (run_.state != values::RunState::kStarting) {
        return false;
    }
    setState(values::RunState::kRunning);
    publish();
    return true;
}

void RunJournal::pin(const std::optional<runs::CountedSpec>& counted) {
    if (counted.has_value()) {
        run_.resolvedSpec = counted->resolvedSpec;
        run_.specHash = counted->specHash;
        run_.streamHash = counted->streamHash;
        run_.planHash = counted->planHash;
    }
}

void RunJournal::look() {
    lackedRoom_ = lackedRoom_ || !directory_.checkRoom().ok();
    const bool isDue = retryNs_ > 0 && place_.clock.steadyNs() >= retryNs_;
    if (isDue && !values::isEnded(run_.state)) {
        setState(run_.state, std::string(why_));
    }
}

void RunJournal::publish() {
    values::RunLive live = live_;
    for (values::WorkerInfo& worker : live.workers) {
        worker.node = worker.node.empty() ? place_.nodes.ownName() : worker.node;
    }
    place_.live.set(run_.id, std::move(live));
}

void RunJournal::waits(bool isFirst, std::string_view log) {
    if (isFirst) {
        addEvent(strCat("attempt ", std::max(run_.attempt, 1), ": ", live_.queuedReason));
        logWarn(log, {{"run", run_.id}, {"attempt", run_.attempt}, {"why", live_.queuedReason}});
    }
    publish();
}

void RunJournal::erase() {
    place_.live.erase(run_.id);
}

void RunJournal::addEvent(const std::string& text) {
    directory_.addEvent({place_.clock.wallMs(), text});
}

void RunJournal::tellEnd(values::RunState state, const std::string& reason) {
    if (!std::exchange(isEndTold_, true)) {
        const std::string name(values::nameOf(state));
        addEvent(reason.empty() ? name : strCat(name, ": ", reason));
    }
}

void RunJournal::tellNext(const std::string& reason, bool isMove) {
    addEvent(strCat("attempt ", run_.attempt, isMove ? " moves: " : " failed: ", reason));
    logWarn("run: restarts", {{"run", run_.id}, {"attempt", run_.attempt}, {"why", reason}});
}

void RunJournal::setHost(const std::string& host) {
    if (host == run_.host) {
        return;
    }
    if (const Status status = place_.store.setHost(run_.id, host); !status.ok()) {
        return logWarn("run: its host is not stored",
                       {{"run", run_.id}, {"why", messageOf(status)}});
    }
    run_.host = host;
}

void RunJournal::tellPlaced(std::int64_t resumeStep, const std::optional<std::string>& node) {
    if (node.has_value()) {
        setHost(node->empty() ? place_.nodes.ownName() : *node);
    }
    live_.attempt = run_.attempt;
    live_.resumeStep = resumeStep;
    live_.queuedReason.clear();
    live_.traffic = {};
    publish();
}

Result<std::vector<std::string>> RunJournal::ranksHeard(int ranks) const {
    std::vector<std::string> heard;
    for (int rank = 0; rank < ranks; ++rank) {
        std::string name = job::rankName(rank);
        ASSIGN_OR_RETURN(const std::int64_t acked,
                         place_.store.ackedSeq(run_.id, run_.attempt, name));
        if (acked > 0) {
            heard.push_back(std::move(name));
        }
    }
    return heard;
}

void RunJournal::noteReceipt(const std::string& worker, const Json& receipt, bool isScript) {
    notePackages(jsonMember(receipt, "packages"));
    if (isScript && worker == job::rankName(0)) {
        noteScript(jsonMember(receipt, "script"));
    }
    const Json& traffic = jsonMember(receipt, "traffic");
    if (worker == job::kFeed && traffic.is_object()) {
        live_.traffic = rank::trafficOf(traffic);
    }
}

void RunJournal::noteScript(const Json& script) {
    const bool isFit = script.is_object() && dumpJson(script).size() <= kMostScriptBytes;
    const Status status = isFit ? directory_.writeScript(run_.attempt, script) : okStatus();
    if (!status.ok()) {
        logWarn("run: script not noted", {{"run", run_.id}, {"why", messageOf(status)}});
    }
}

void RunJournal::addNews(const std::vector<std::string>& news, std::string_view log) {
    for (const std::string& text : news) {
        addEvent(text);
        logWarn(log, {{"run", run_.id}, {"attempt", run_.attempt}, {"what", text}});
    }
}

// Leaves out versions that are not texts, and those beyond the bound.
void RunJournal::notePackages(const Json& packages) {
    std::map<std::string, std::string> versions;
    for (const auto& [name, version] : packages.items()) {
        const bool isShort = name.size() <= kMostPackageBytes && version.is_string() &&
                             version.get_ref<const std::string&>().size() <= kMostPackageBytes;
        if (isShort && versions.size() < kMostPackages) {
            versions[name] = version.get<std::string>();
        }
    }
    const Status status =
        versions.empty() ? okStatus() : place_.store.addPackages(run_.id, versions);
    if (!status.ok()) {
        logWarn("run: packages not stored", {{"run", run_.id}, {"why", messageOf(status)}});
    }
}

}  // namespace millrace::agent
