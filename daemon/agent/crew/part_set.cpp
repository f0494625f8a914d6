#include "daemon/agent/crew/part_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include <signal.h>

#include "backend/core/exit_codes.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kPartsBytesMost = std::size_t{1} << 20;
// After the attempt's own gang has ended well: the other parts read the rest of their rings.
constexpr std::int64_t kFinishNs = 15'000'000'000;
// Reports of other nodes come later than the end of a local survivor, by the delay of the
// connection. Within this time a death by SIGKILL counts as the first failure: no survivor dies of
// it.
constexpr std::int64_t kBlurMs = 1'000;

// True if the gang ended by itself, not because it was told to.
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

Result<bool> PartSet::find(const job::RunPaths& paths, int attempt) {
    RETURN_IF_ERROR(recall(paths, attempt));
    hold();
    return place_.nodes.has(parts_.empty() ? "" : lead().node, gangKey(run_, attempt));
}

Status PartSet::recall(const job::RunPaths& paths, int attempt) {
    if (attempt == attempt_ && !parts_.empty()) {
        return okStatus();
    }
    paths_ = paths.attempt(attempt);
    attempt_ = attempt;
    const std::string shared = paths.sharedCheckpoints();
    probePath_ = shared.empty() ? "" : shared + "/.probe";
    isEnding_ = isHolding_ = areFilesGivenUp_ = false;
    leave_ = readLeave();
    doneNs_ = 0;
    parts_.clear();
    const Status status = read();
    if (!status.ok()) {
        parts_.clear();
    }
    return status;
}

Status PartSet::begin(const job::RunPaths& paths, int attempt) {
    RETURN_IF_ERROR(recall(paths, attempt));
    if (parts_.empty()) {
        RETURN_IF_ERROR(choose());
    }
    hold();
    return okStatus();
}

// Also reserves for parts that cannot be asked for, because they may live, and on nodes that have
// not reported their resources yet.
void PartSet::hold() {
    for (const Part& part : parts_) {
        place_.nodes.keep(part.node, part.name.key(),
                          schedule::needsWithBeside(place_.parts, part.name.part), workersOf(part));
    }
    isHolding_ = !parts_.empty();
}

schedule::Resources PartSet::needsOf(const Part& part) const {
    return schedule::withinNode(schedule::needsWithBeside(place_.parts, part.name.part),
                                place_.nodes.standing(part.node).total);
}

std::vector<std::string> PartSet::workersOf(const Part& part) const {
    std::vector<std::string> names = {part.name.feed()};
    for (int i = 0; i < place_.ranksPerNode; ++i) {
        names.push_back(job::rankName(part.name.part * place_.ranksPerNode + i));
    }
    return names;
}

PartSet::Part PartSet::partOn(int part, const std::string& node) const {
    Part one;
    one.name = {run_, attempt_, part};
    one.node = node;
    one.state.phase = engines::Phase::kPlacing;
    return one;
}

// Chooses the nodes. Writes the choice first if a part goes to another node than the head's
// machine.
Status PartSet::choose() {
    const schedule::Fit found = schedule::fit(place_.parts, allOf(place_.nodes));
    lacksNodes_ = found.kind != schedule::Fit::Kind::kNow;
    if (lacksNodes_) {
        return unavailable(found.reason);
    }
    bool isSpread = false;
    for (int part = 0; part < numNodes_; ++part) {
        parts_.push_back(partOn(part, found.nodes[static_cast<std::size_t>(part)]));
        parts_.back().isNews = !parts_.back().node.empty();
        isSpread = isSpread || parts_.back().isNews;
    }
    Status status;
    if (isSpread) {
        status = probePath_.empty() ? okStatus()
                                    : writeFileAtomic(probePath_, gangKey(run_, attempt_), 0600);
        status = status.ok() ? save() : status;
    }
    if (!status.ok()) {
        parts_.clear();
    }
    return status;
}

Status PartSet::save() const {
    Json parts = Json::array();
    for (const Part& part : parts_) {
        if (!part.node.empty()) {
            parts.push_back({{"part", part.name.part}, {"node", part.node}});
        }
    }
    return writeFileAtomic(paths_.directory() + "/parts.json", dumpJson(parts) + "\n", 0600);
}

// Reads where an earlier daemon placed the parts. Without a file nothing was placed, unless the
// engine knows the only one.
Status PartSet::read() {
    const std::string path = paths_.directory() + "/parts.json";
    const Result<std::string> text = readFile(path, kPartsBytesMost);
    if (absl::IsNotFound(text.status())) {
        const bool isHere =
            numNodes_ == 1 && place_.nodes.has("", gangKey(run_, attempt_)).value_or(false);
        parts_.assign(isHere ? 1 : 0, partOn(0, ""));
        return okStatus();
    }
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(const Json json, parseJson(*text, path));
    for (int part = 0; part < numNodes_; ++part) {
        parts_.push_back(partOn(part, ""));
    }
    std::set<int> numbers;
    for (const Json& one : json) {
        const auto part = jsonInt(one, "part");
        const std::string node = jsonString(one, "node");
        const bool isNew = numbers.insert(static_cast<int>(part)).second;
        if (!isNew || part < 0 || part >= numNodes_ || node.empty()) {
            return dataLoss(path, ": part ", part, " on node '", node, "' makes no sense");
        }
        parts_[static_cast<std::size_t>(part)].node = node;
    }
    numbers.insert(0);
    if (static_cast<int>(numbers.size()) != numNodes_) {
        return dataLoss(path, ": names ", numbers.size() - 1, " of the ", numNodes_ - 1,
                        " parts beside the first");
    }
    return okStatus();
}

std::vector<std::string> PartSet::nodes() const {
    std::vector<std::string> all;
    for (const Part& part : parts_) {
        all.push_back(part.node);
    }
    return all;
}

Rendezvous PartSet::rendezvous() const {
    const NodeStatus node = place_.nodes.standing(lead().node);
    return {node.address, node.interface};
}

std::string PartSet::waiting() const {
    const bool isWaiting =
        lead().state.phase == engines::Phase::kSubmitting && !lead().state.reason.empty();
    return isWaiting && !lead().node.empty()
               ? strCat("node ", lead().node, ": ", lead().state.reason)
               : "";
}

Result<Placement> PartSet::placementOf(const Part& part, int masterPort) const {
    ASSIGN_OR_RETURN(Placement made, place_.make(part.name, part.node, masterPort, needsOf(part)));
    made.probePath = probePath_;
    made.probeText = probePath_.empty() ? "" : gangKey(run_, attempt_);
    return made;
}

Status PartSet::placeLead() {
    ASSIGN_OR_RETURN(const Placement made, placementOf(lead(), 0));
    return place_.nodes.place(lead().node, made);
}

void PartSet::look(Part& part, std::vector<std::string>& news) {
    if (part.isOver()) {
        return;
    }
    const NodeStatus node = place_.nodes.standing(part.node);
    if (const auto state = place_.nodes.state(part.node, part.name.key())) {
        part.state = *state;
    } else if (isEnding_ &&
               (node.isThere || node.hasLeft)) {  // it was never there, or its end was reported
        // Reports how it ended even if its end was asked for: it may have failed before.
        const auto last = place_.nodes.lastWord(part.node, part.name.key());
        if (!last && !part.node.empty() && !part.state.workers.empty()) {
            // Another machine has taken the node's name: the part was lost with the first machine.
            part.lostMs = std::max<std::int64_t>(1, part.state.asOfMs);
        }
        part.state = last.value_or(part.state);
        part.state.phase = engines::Phase::kEnded;
    }
    for (engines::WorkerState& worker : part.state.workers) {
        worker.rank = job::rankOf(worker.name).value_or(-1);
        worker.isCritical = true;
        worker.node = part.node;
    }
    noteReplaced(part, news);
    if (!part.isOver() && node.isLost) {
        part.lostMs = std::max<std::int64_t>(1, node.heardMs);
        news.push_back(strCat("node ", part.node,
                              " is lost: its ranks count as ended; they end when it comes back"));
    }
}

void PartSet::noteReplaced(Part& part, std::vector<std::string>& news) const {
    if (part.state.workers.empty() || part.state.phase == engines::Phase::kSubmitting) {
        return;
    }
    int replaced = 0;
    for (const engines::WorkerState& worker : part.state.workers) {
        replaced += worker.numReplaced;
    }
    if (part.numReplaced.has_value() && replaced > *part.numReplaced) {
        news.push_back(
            strCat(part.name.part == 0 ? "the feed" : strCat("the relay of node ", part.node),
                   " failed and was replaced; its ranks go on"));
    }
    part.numReplaced = replaced;
}

void PartSet::place(Part& part, const std::string& joinFile, std::vector<std::string>& news) {
    Result<Placement> made = placementOf(part, lead().state.masterPort);
    if (made.ok()) {
        made->joinFile = joinFile;
    }
    const Status status = made.ok() ? place_.nodes.place(part.node, *made) : made.status();
    if (!status.ok()) {
        part.state.phase = engines::Phase::kEnded;
        part.state.cause = engines::Cause::kEngineFailed;
        part.state.reason = strCat("node ", part.node, ": ", messageOf(status));
        return;
    }
    part.joinFile = joinFile;
    tellPlaced(part, news);
}

// Does not report parts that an earlier daemon placed.
void PartSet::tellPlaced(Part& part, std::vector<std::string>& news) const {
    if (std::exchange(part.isNews, false)) {
        news.push_back(strCat(numNodes_ == 1 ? std::string("its ranks are")
                                             : strCat("part ", part.name.part, " of its ranks is"),
                              " placed on node ", part.node));
    }
}

std::vector<std::string> PartSet::tick() {
    std::vector<std::string> news;
    if (parts_.empty()) {
        return news;
    }
    tellPlaced(parts_.front(), news);
    look(parts_.front(), news);
    if (parts_.size() == 1) {
        return news;
    }
    const std::string joinFile = isEnding_ || lead().isOver()
                                     ? ""
                                     : readFile(paths_.joinFile(), kPartsBytesMost).value_or("");
    for (auto part = parts_.begin() + 1; part != parts_.end(); ++part) {
        look(*part, news);
        if (!joinFile.empty() && joinFile != part->joinFile && !part->isOver()) {
            place(*part, joinFile, news);
        }
    }
    if (lead().isOver() && lead().lostMs == 0 && lead().state.cause == engines::Cause::kOk) {
        const std::int64_t now = place_.clock.steadyNs();
        doneNs_ = doneNs_ == 0 ? now : doneNs_;
        if (now - doneNs_ >= kFinishNs) {
            endOthers({.why = "the ranks of the first part have ended"});
        }
    } else if (lead().isOver() || isFailure(lead().state.cause)) {
        endOthers({.why = "another part of the attempt has ended"});
    }
    return news;
}

void PartSet::endOthers(const EndRequest& request) {
    isEnding_ = true;
    for (const Part& part : parts_) {
        if (part.name.part > 0) {
            (void)place_.nodes.end(part.node, part.name.key(), request);
        }
    }
}

Status PartSet::end(const EndRequest& request) {
    endOthers(request);
    isHolding_ = false;
    if (attempt_ == 0) {
        return okStatus();
    }
    // If the places of the parts are unknown, some may be on the head's machine.
    return place_.nodes.end(parts_.empty() ? "" : lead().node, gangKey(run_, attempt_), request);
}

std::vector<std::string> PartSet::giveUpFiles(bool isGraceOver) {
    const bool isLeft = !parts_.empty() && !lead().isOver() && lead().state.handOver.has_value();
    if (!isGraceOver || !isEnding_ || !isLeft || std::exchange(areFilesGivenUp_, true)) {
        return {};
    }
    place_.nodes.giveUpFiles(lead().node, lead().name.key());
    const values::HandOver& left = *lead().state.handOver;
    return {strCat("the ", left.areScores ? "scores" : "checkpoint", " of step ", left.step,
                   " did not come from node ", lead().node, " within the grace: given up")};
}

bool PartSet::areOver() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.isOver(); });
}

std::optional<PartSet::Failure> PartSet::failureOf(const Part& part) const {
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
    // A part that ended without an order of this daemon also ends the attempt.
    const bool isStray = !part.node.empty() && part.isOver() && !isEnding_ &&
                         part.state.cause != engines::Cause::kOk;
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
    const bool isUnnamed = failure.state.worker.empty() || failure.state.reason.empty();
    if (!part.node.empty() && isUnnamed) {
        failure.state.reason =
            strCat("node ", part.node, ": ",
                   part.state.reason.empty() ? "its part of the run ended" : part.state.reason);
    }
    return failure;
}

std::optional<PartSet::Failure> PartSet::firstFailure() const {
    std::vector<Failure> all;
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

bool PartSet::hasFailed() const {
    return std::any_of(parts_.begin(), parts_.end(), [this](const Part& part) {
        return part.name.part > 0 && failureOf(part).has_value();
    });
}

std::optional<PartSet::Leave> PartSet::readLeave() const {
    const Result<std::string> text = readFile(leaveFile(), kPartsBytesMost);
    const Result<Json> json =
        text.ok() ? parseJson(*text, leaveFile()) : Result<Json>(text.status());
    return json.ok() ? std::optional(Leave{jsonString(*json, "why"),
                                           std::chrono::milliseconds(jsonInt(*json, "grace_ms"))})
                     : std::nullopt;
}

std::optional<PartSet::Leave> PartSet::leave() {
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

std::optional<PartSet::Leave> PartSet::findLeave() const {
    for (const Part& part : parts_) {
        const NodeStatus node = place_.nodes.standing(part.node);
        if (!part.isOver() && !node.leaving.empty()) {
            return Leave{strCat("node ", part.node, " ", node.leaving), node.leaveGrace};
        }
    }
    return std::nullopt;
}

bool PartSet::isAwaited() const {
    return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) {
        return !part.isOver() && part.state.workers.empty();
    });
}

std::set<std::string> PartSet::unreached() const {
    std::set<std::string> names;
    for (const Part& part : parts_) {
        if (!part.isOver() && !place_.nodes.standing(part.node).isThere) {
            for (std::string& name : workersOf(part)) {
                names.insert(std::move(name));
            }
        }
    }
    return names;
}

std::string PartSet::held() const {
    for (const Part& part : parts_) {
        const NodeStatus node = place_.nodes.standing(part.node);
        if (!part.isOver() && !node.held.empty()) {
            return strCat("node ", part.node, " is away, its agent is refused: ", node.held);
        }
    }
    return "";
}

engines::State PartSet::state() const {
    if (parts_.empty()) {
        return {};
    }
    engines::State all = lead().state;
    all.phase = lead().lostMs != 0 ? engines::Phase::kEnded : all.phase;
    all.handOver = lead().isOver() ? std::nullopt : all.handOver;
    for (const Part& part : parts_) {
        if (part.name.part > 0) {
            all.workers.insert(all.workers.end(), part.state.workers.begin(),
                               part.state.workers.end());
        }
    }
    if (const auto failure = firstFailure()) {
        all.cause = failure->state.cause;
        all.worker = failure->state.worker;
        all.exitCode = failure->state.exitCode;
        all.reason = failure->state.reason;
    }
    const bool isLeft = lead().isOver() && !areOver();
    if (isLeft || (!lead().isOver() && hasFailed())) {
        all.phase = engines::Phase::kStopping;
    }
    return all;
}

}  // namespace millrace::agent
