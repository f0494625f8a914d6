#include "daemon/agent/crew/part_crew.h"

#include <algorithm>
#include <set>
#include <utility>

#include <signal.h>

#include "backend/core/exit_codes.h"
#include "backend/core/files.h"
#include "backend/core/json.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kPartsBytesMost = std::size_t{1} << 20;
// Once the attempt's own gang has ended well: the others read what is left of their rings.
constexpr std::int64_t kFinishNs = 15'000'000'000;
// A node's word comes later than a survivor's own end by what the connection takes: within it a
// death by SIGKILL, which no survivor dies, is the first.
constexpr std::int64_t kBlurMs = 1'000;

bool isGone(const std::optional<engines::State>& gang) {
    return gang.has_value() &&
           (gang->phase == engines::Phase::kEnded || gang->phase == engines::Phase::kMissing);
}

// By itself, not because it was told to.
bool isFailure(engines::Cause cause) {
    return cause != engines::Cause::kNone && cause != engines::Cause::kOk &&
           cause != engines::Cause::kCancelled;
}

const engines::WorkerState* workerOf(const engines::State& state) {
    const auto found = std::find_if(state.workers.begin(), state.workers.end(),
                                    [&](const auto& one) { return one.name == state.worker; });
    return found == state.workers.end() ? nullptr : &*found;
}

}  // namespace

Status PartCrew::recall(const job::RunPaths& paths, int attempt) {
    if (attempt == attempt_ && isChosen_) {
        return okStatus();
    }
    paths_ = paths.attempt(attempt);
    attempt_ = attempt;
    probePath_ = paths.checkpoints() + "/.probe";
    isEnding_ = isChosen_ = false;
    leave_ = readLeave();
    doneNs_ = 0;
    lead_.reset();
    parts_.clear();
    const Status status = read();
    if (!status.ok()) {
        lead_.reset();
        parts_.clear();
    }
    return status;
}

Status PartCrew::begin(const job::RunPaths& paths, int attempt) {
    RETURN_IF_ERROR(recall(paths, attempt));
    if (!isChosen_) {
        RETURN_IF_ERROR(choose());
    }
    if (lead_.has_value()) {
        keep(*lead_);
    }
    for (const Part& part : parts_) {
        keep(part);
    }
    return okStatus();
}

schedule::Resources PartCrew::needsOf(const Part& part) const {
    return withinNode(place_.needs(part.name.part), place_.nodes->standing(part.node).total);
}

void PartCrew::keep(const Part& part) {
    place_.nodes->keep(part.node, part.name.key(), needsOf(part), workersOf(part));
}

std::vector<std::string> PartCrew::workersOf(const Part& part) const {
    std::vector<std::string> names = {part.name.feed()};
    for (int i = 0; i < place_.ranksPerNode; ++i) {
        names.push_back(job::rankName(part.name.part * place_.ranksPerNode + i));
    }
    return names;
}

PartCrew::Part PartCrew::partOn(int part, const std::string& node) const {
    Part one;
    one.name = {run_, attempt_, part};
    one.node = node;
    one.state.phase = engines::Phase::kPlacing;
    return one;
}

Status PartCrew::choose() {
    const int first = place_.trainsHere ? 1 : 0;
    std::vector<schedule::Resources> needs;
    for (int part = first; part < numNodes_; ++part) {
        needs.push_back(place_.needs(part));
    }
    if (needs.empty()) {
        isChosen_ = true;
        return okStatus();
    }
    const std::vector<NodeStanding> standings =
        place_.nodes == nullptr ? std::vector<NodeStanding>() : place_.nodes->standings();
    ASSIGN_OR_RETURN(const auto nodes, chooseNodes(standings, needs, place_.trainsHere));
    for (int part = first; part < numNodes_; ++part) {
        Part one = partOn(part, nodes[static_cast<std::size_t>(part - first)]);
        if (part == 0) {
            lead_ = std::move(one);
        } else {
            parts_.push_back(std::move(one));
        }
    }
    Status status = writeFileAtomic(probePath_, strCat(run_, ".a", attempt_), 0600);
    status = status.ok() ? save() : status;
    isChosen_ = status.ok();
    if (!isChosen_) {
        lead_.reset();
        parts_.clear();
    }
    return status;
}

Status PartCrew::save() const {
    Json parts = Json::array();
    if (lead_.has_value()) {
        parts.push_back({{"part", 0}, {"node", lead_->node}});
    }
    for (const Part& part : parts_) {
        parts.push_back({{"part", part.name.part}, {"node", part.node}});
    }
    return writeFileAtomic(paths_.directory() + "/parts.json", dumpJson(parts) + "\n", 0600);
}

// Of an earlier daemon; nothing is chosen where there is no such file.
Status PartCrew::read() {
    const std::string path = paths_.directory() + "/parts.json";
    const Result<std::string> text = readFile(path, kPartsBytesMost);
    if (place_.nodes == nullptr || absl::IsNotFound(text.status())) {
        return okStatus();
    }
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(const Json json, parseJson(*text, path));
    std::set<int> numbers;
    for (const Json& one : json) {
        Part part = partOn(static_cast<int>(jsonInt(one, "part")), jsonString(one, "node"));
        const bool isNew = numbers.insert(part.name.part).second;
        if (!isNew || part.name.part < 0 || part.name.part >= numNodes_ || part.node.empty()) {
            return dataLoss(path, ": part ", part.name.part, " on node '", part.node,
                            "' makes no sense");
        }
        if (part.name.part == 0) {
            lead_ = std::move(part);
        } else {
            parts_.push_back(std::move(part));
        }
    }
    if (static_cast<int>(parts_.size()) != numNodes_ - 1) {
        return dataLoss(path, ": names ", parts_.size(), " of the ", numNodes_ - 1,
                        " parts beside the first");
    }
    isChosen_ = true;
    return okStatus();
}

std::string PartCrew::leadAddress() const {
    return lead_.has_value() ? place_.nodes->standing(lead_->node).address : "";
}

Status PartCrew::placeLead() {
    ASSIGN_OR_RETURN(Placement made, place_.make(lead_->name, 0, needsOf(*lead_)));
    made.probePath = probePath_;
    made.probeText = strCat(run_, ".a", attempt_);
    place_.nodes->place(lead_->node, made);
    return okStatus();
}

Result<bool> PartCrew::findLead() const {
    const NodeStanding node = place_.nodes->standing(lead_->node);
    if (node.isLost || place_.nodes->state(lead_->node, lead_->name.key()).has_value()) {
        return true;
    }
    if (!node.isThere) {
        return unavailable("node ", lead_->node, ", where its feed is, is away");
    }
    return false;
}

engines::State PartCrew::lookAtLead(std::vector<std::string>& news) {
    look(*lead_, news);
    engines::State state = lead_->state;
    if (const auto failure = failureOf(*lead_)) {
        state.cause = failure->state.cause;
        state.reason = failure->state.reason;
        state.asOfMs = failure->timeMs;
    }
    if (lead_->isOver()) {
        state.phase = engines::Phase::kEnded;
    }
    return state;
}

void PartCrew::look(Part& part, std::vector<std::string>& news) {
    if (part.isOver()) {
        return;
    }
    const NodeStanding node = place_.nodes->standing(part.node);
    if (const auto state = place_.nodes->state(part.node, part.name.key())) {
        part.state = *state;
    } else if (isEnding_ &&
               (node.isThere || node.hasLeft)) {  // it never was there, or has said its end
        // How it ended is told even where its end was asked for: it may have failed before.
        part.state = place_.nodes->lastWord(part.node, part.name.key()).value_or(part.state);
        part.state.phase = engines::Phase::kEnded;
    }
    for (engines::WorkerState& worker : part.state.workers) {
        worker.rank = job::rankOf(worker.name).value_or(-1);
        worker.isCritical = true;
    }
    if (!part.isOver() && node.isLost) {
        part.lostMs = std::max<std::int64_t>(1, node.heardMs);
        news.push_back(strCat("node ", part.node,
                              " is lost: its ranks count as ended; they end when it comes back"));
    }
}

void PartCrew::place(Part& part, const std::string& joinFile, int masterPort,
                     std::vector<std::string>& news) {
    Result<Placement> made = place_.make(part.name, masterPort, needsOf(part));
    if (!made.ok()) {
        part.state.phase = engines::Phase::kEnded;
        part.state.cause = engines::Cause::kEngineFailed;
        part.state.reason = strCat("node ", part.node, ": ", messageOf(made.status()));
        return;
    }
    if (part.joinFile.empty()) {
        news.push_back(
            strCat("part ", part.name.part, " of its ranks is placed on node ", part.node));
    }
    part.joinFile = joinFile;
    made->joinFile = joinFile;
    made->probePath = probePath_;
    made->probeText = strCat(run_, ".a", attempt_);
    place_.nodes->place(part.node, *made);
}

std::vector<std::string> PartCrew::tick(const std::optional<engines::State>& gang) {
    std::vector<std::string> news;
    if (parts_.empty()) {
        return news;
    }
    const std::string joinFile = isEnding_ || !gang.has_value()
                                     ? ""
                                     : readFile(paths_.joinFile(), kPartsBytesMost).value_or("");
    for (Part& part : parts_) {
        look(part, news);
        const bool isStale = !joinFile.empty() && joinFile != part.joinFile;
        if (isStale && !part.isOver() && !isGone(gang)) {
            place(part, joinFile, gang->masterPort, news);
        }
    }
    if (isGone(gang) && gang->cause == engines::Cause::kOk) {
        const std::int64_t now = place_.clock.steadyNs();
        doneNs_ = doneNs_ == 0 ? now : doneNs_;
        if (now - doneNs_ >= kFinishNs) {
            end();
        }
    } else if (isGone(gang) || (gang.has_value() && isFailure(gang->cause))) {
        end();
    }
    return news;
}

void PartCrew::end() {
    isEnding_ = true;
    if (lead_.has_value()) {
        place_.nodes->end(lead_->node, lead_->name.key());
    }
    for (const Part& part : parts_) {
        place_.nodes->end(part.node, part.name.key());
    }
}

bool PartCrew::areOver() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.isOver(); });
}

std::optional<PartCrew::Failure> PartCrew::failureOf(const Part& part) const {
    Failure failure;
    failure.state.cause = part.state.cause;
    failure.state.reason = part.state.reason;
    if (part.lostMs != 0) {
        failure.timeMs = part.lostMs;
        failure.state.cause = engines::Cause::kNodeLost;
        failure.state.reason =
            strCat("node ", part.node, " with ", part.name.feed(), " and its ranks is lost");
        return failure;
    }
    // One that nobody here asked to end does not go on either.
    const bool isStray = part.isOver() && part.state.cause != engines::Cause::kOk && !isEnding_;
    if (!isFailure(part.state.cause) && !isStray) {
        return std::nullopt;
    }
    failure.state.worker = part.state.worker;
    failure.state.exitCode = part.state.exitCode;
    failure.timeMs = part.state.asOfMs;
    if (const engines::WorkerState* worker = workerOf(part.state)) {
        failure.timeMs = worker->endedMs;
        failure.isKilled = worker->signal == SIGKILL;
    }
    if (failure.state.worker.empty() || failure.state.reason.empty()) {
        failure.state.reason =
            strCat("node ", part.node, ": ",
                   part.state.reason.empty() ? "its part of the run ended" : part.state.reason);
    }
    return failure;
}

std::optional<PartCrew::Failure> PartCrew::firstFailure(
    const std::optional<engines::State>& gang) const {
    std::vector<Failure> all;
    if (gang.has_value() && isFailure(gang->cause)) {
        const engines::WorkerState* worker = workerOf(*gang);
        all.push_back({worker == nullptr ? gang->asOfMs : worker->endedMs,
                       worker != nullptr && worker->signal == SIGKILL, *gang});
    }
    for (const Part& part : parts_) {
        if (const auto failure = failureOf(part)) {
            all.push_back(*failure);
        }
    }
    if (all.empty()) {
        return std::nullopt;
    }
    const auto isBefore = [](const Failure& a, const Failure& b) { return a.timeMs < b.timeMs; };
    std::stable_sort(all.begin(), all.end(), isBefore);
    const std::int64_t firstMs = all.front().timeMs;
    const auto killed = std::find_if(all.begin(), all.end(), [&](const Failure& one) {
        return one.isKilled && one.timeMs - firstMs <= kBlurMs;
    });
    return killed == all.end() ? all.front() : *killed;
}

bool PartCrew::hasFailed() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [this](const Part& part) { return failureOf(part).has_value(); });
}

std::optional<PartCrew::Leave> PartCrew::readLeave() const {
    const Result<std::string> text = readFile(leaveFile(), kPartsBytesMost);
    const Result<Json> json =
        text.ok() ? parseJson(*text, leaveFile()) : Result<Json>(text.status());
    return json.ok() ? std::optional(Leave{jsonString(*json, "why"),
                                           std::chrono::milliseconds(jsonInt(*json, "grace_ms"))})
                     : std::nullopt;
}

std::optional<PartCrew::Leave> PartCrew::leave() {
    if (leave_.has_value()) {
        return leave_;
    }
    const std::optional<Leave> found = findLeave();
    if (!found.has_value()) {
        return std::nullopt;
    }
    const Json json = {{"why", found->why}, {"grace_ms", found->grace.count()}};
    if (writeFileAtomic(leaveFile(), dumpJson(json) + "\n", 0600).ok()) {
        leave_ = found;
    }
    return leave_;
}

std::optional<PartCrew::Leave> PartCrew::findLeave() const {
    const auto of = [this](const Part& part) -> std::optional<Leave> {
        const NodeStanding node = place_.nodes->standing(part.node);
        return part.isOver() || node.leaving.empty()
                   ? std::nullopt
                   : std::optional(
                         Leave{strCat("node ", part.node, " ", node.leaving), node.leaveGrace});
    };
    std::optional<Leave> found = lead_.has_value() ? of(*lead_) : std::nullopt;
    for (auto part = parts_.begin(); part != parts_.end() && !found.has_value(); ++part) {
        found = of(*part);
    }
    return found;
}

bool PartCrew::isAwaited() const {
    const auto isUnheard = [](const Part& part) {
        return !part.isOver() && part.state.workers.empty();
    };
    return (lead_.has_value() && isUnheard(*lead_)) ||
           std::any_of(parts_.begin(), parts_.end(), isUnheard);
}

std::set<std::string> PartCrew::unreached() const {
    std::set<std::string> names;
    const auto add = [&](const Part& part) {
        if (part.isOver() || place_.nodes->standing(part.node).isThere) {
            return;
        }
        for (std::string& name : workersOf(part)) {
            names.insert(std::move(name));
        }
    };
    if (lead_.has_value()) {
        add(*lead_);
    }
    std::for_each(parts_.begin(), parts_.end(), add);
    return names;
}

engines::State PartCrew::with(const std::optional<engines::State>& gang) const {
    engines::State all = gang.value_or(engines::State());
    if (parts_.empty()) {
        return all;
    }
    for (const Part& part : parts_) {
        for (engines::WorkerState worker : part.state.workers) {
            worker.node = part.node;
            all.workers.push_back(std::move(worker));
        }
    }
    if (const auto failure = firstFailure(gang)) {
        all.cause = failure->state.cause;
        all.worker = failure->state.worker;
        all.exitCode = failure->state.exitCode;
        all.reason = failure->state.reason;
    }
    const bool isLeft = isGone(gang) && !areOver();
    if (isLeft || (gang.has_value() && !isGone(gang) && hasFailed())) {
        all.phase = engines::Phase::kStopping;
    }
    return all;
}

}  // namespace millrace::agent
