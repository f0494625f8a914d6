#include "daemon/agent/crew/data_worker_set.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "backend/core/exit_codes.h"
#include "backend/core/log.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"
#include "backend/values/metric_names.h"

namespace millrace::agent {
namespace {

// Most replacements in an attempt of workers that failed for good.
constexpr int kFailedMost = 16;
constexpr std::chrono::milliseconds kLeaveGrace{15'000};
// Time that all workers together have to end, after end().
constexpr std::int64_t kEndNs = 20'000'000'000;
constexpr std::size_t kFileBytesMost = std::size_t{1} << 20;
constexpr const char* kNotNeeded = "the feed does not need it any more";

std::string crewFile(const job::AttemptPaths& paths) {
    return paths.directory() + "/crew.json";
}

engines::State placing() {
    engines::State state;
    state.phase = engines::Phase::kPlacing;
    return state;
}

// The same input would fail again, so such a worker is not restarted.
bool isInputError(const engines::State& state) {
    return state.exitCode == kExitInput;
}

schedule::Resources usedBy(const WorkerBeside& beside, int threads) {
    return {static_cast<double>(threads), 0, threads > 0 ? beside.memoryBytes : 0};
}

std::string besideText(int threads) {
    return strCat(", beside its ranks, with ", threads, threads == 1 ? " thread" : " threads");
}

// Returns the threads that a worker beside ranks may have on this node. `own`: those that it has.
// On spare cores it gets one for each core that neither a reservation nor another borrower has.
int threadsBeside(const WorkerBeside& beside, const NodeStatus& node, int own) {
    if (beside.threads) {
        return static_cast<int>(
            std::min(static_cast<double>(*beside.threads), std::max(1.0, node.total.cpus)));
    }
    schedule::Resources others = node.borrowed, room = node.free;
    others -= schedule::withinNode(usedBy(beside, own), node.total);
    room -= others;
    const schedule::Resources least = schedule::withinNode(usedBy(beside, 1), node.total);
    // The spare cores of one machine are the feed's own.
    return node.address.empty() || !least.fitsIn(room) ? 0 : static_cast<int>(room.cpus);
}

}  // namespace

DataWorkerSet::DataWorkerSet(DataWorkerSetOptions place, std::string run, int least, int most)
    : place_(std::move(place)), run_(std::move(run)), least_(least), most_(std::max(least, most)) {}

void DataWorkerSet::begin(const job::AttemptPaths& paths, int attempt,
                          std::vector<WorkerBeside> beside) {
    if (attempt_ == attempt && !isEnding_) {
        return;
    }
    beside_ = std::move(beside);
    paths_ = paths;
    attempt_ = attempt;
    next_ = 0;
    members_.clear();
    wanted_ = 0;
    changedNs_ = 0;
    numFailed_ = 0;
    isEnding_ = false;
    read();
}

// Reads the crew of an earlier daemon. If the file cannot be read, only its workers are lost: they
// end with the feed.
void DataWorkerSet::read() {
    const Result<std::string> text = readFile(crewFile(paths_), kFileBytesMost);
    const Result<Json> json =
        text.ok() ? parseJson(*text, crewFile(paths_)) : Result<Json>(text.status());
    if (!json.ok()) {
        return;
    }
    next_ = static_cast<int>(jsonInt(*json, "next"));
    for (const Json& one : jsonMember(*json, "workers")) {
        Member member;
        member.name = {run_, attempt_, static_cast<int>(jsonInt(one, "number"))};
        member.node = jsonString(one, "node");
        member.threads = static_cast<int>(jsonInt(one, "threads"));
        member.state = placing();
        borrow(member);
        members_.push_back(std::move(member));
    }
    wanted_ = numStaying();  // until its feed advises another number
}

Status DataWorkerSet::save() const {
    Json workers = Json::array();
    for (const Member& member : members_) {
        workers.push_back(
            {{"number", member.name.number}, {"node", member.node}, {"threads", member.threads}});
    }
    return writeFileAtomic(crewFile(paths_),
                           dumpJson({{"next", next_}, {"workers", workers}}) + "\n", 0600);
}

int DataWorkerSet::numStaying() const {
    return static_cast<int>(std::count_if(members_.begin(), members_.end(),
                                          [](const Member& m) { return !m.isLeaving; }));
}

int DataWorkerSet::numBeside() const {
    return static_cast<int>(std::count_if(members_.begin(), members_.end(), [](const Member& m) {
        return !m.isLeaving && m.threads > 0;
    }));
}

// Returns the number of workers to have now, within the spec's bounds. Follows the advice one
// worker at a time, because a worker takes a while to be of use.
int DataWorkerSet::target() {
    const int has = numStaying();
    if (has < least_ || candidates().empty()) {
        return least_;
    }
    const int wanted = std::clamp(static_cast<int>(std::lround(wanted_)), least_, most_);
    const std::int64_t now = place_.clock.steadyNs();
    const bool isDue = changedNs_ == 0 || now - changedNs_ >= place_.paceNs;
    if (wanted == has || !isDue) {
        return has;
    }
    changedNs_ = now;
    return wanted > has ? has + 1 : has - 1;
}

std::vector<NodeStatus> DataWorkerSet::candidates() const {
    std::vector<NodeStatus> nodes = place_.nodes.standings();
    std::erase_if(nodes,
                  [](const NodeStatus& node) { return node.isLost || !node.leaving.empty(); });
    return nodes;
}

// Chooses the least loaded nodes. Uses the head's machine only when no other node may come back.
void DataWorkerSet::add(int count, std::vector<std::string>& news) {
    if (count <= 0) {
        return;
    }
    std::vector<NodeStatus> nodes = candidates();
    if (nodes.empty()) {
        nodes.push_back(place_.nodes.standing(""));
    }
    std::map<std::string, int> due;  // workers that are not placed yet, by node
    for (const Member& member : members_) {
        due[member.node] += member.joinFile.empty() ? 1 : 0;
    }
    const auto load = [&](const NodeStatus& node) {
        return (node.numPlaced + due[node.name] + 1.0) / std::max(1.0, node.total.cpus);
    };
    std::vector<Member> added;
    for (; count > 0; --count) {
        const auto best = std::min_element(
            nodes.begin(), nodes.end(), [&](const NodeStatus& a, const NodeStatus& b) {
                return a.isThere != b.isThere ? a.isThere : load(a) < load(b);
            });
        if (!best->mayTake()) {
            break;
        }
        ++due[best->name];
        added.push_back(makeMember(best->name));
    }
    keep(std::move(added), news);
}

DataWorkerSet::Member DataWorkerSet::makeMember(const std::string& node) {
    Member member;
    member.name = {run_, attempt_, next_++};
    member.node = node;
    member.state = placing();
    return member;
}

// Nodes with ranks that are to be left, or are away, get no worker.
void DataWorkerSet::keepBeside(std::vector<std::string>& news) {
    std::vector<Member> added;
    for (const WorkerBeside& beside : beside_) {
        const NodeStatus node = place_.nodes.standing(beside.node);
        const auto member = std::ranges::find_if(members_, [&](const Member& m) {
            return !m.isLeaving && m.threads > 0 && m.node == beside.node;
        });
        const bool isNew = member == members_.end();
        const int own = isNew ? 0 : member->threads;
        const int threads = node.mayTake() ? threadsBeside(beside, node, own) : own;
        if (isNew ? threads == 0 : threads >= own || member->isOver()) {
            continue;
        }
        if (!isNew) {
            news.push_back(strCat(member->name.worker(), " leaves: other runs have reserved ",
                                  "resources that it uses on node ", beside.node));
            release(*member, "other runs have reserved resources that it uses");
        }
        if (threads > 0) {
            added.push_back(makeMember(beside.node));
            added.back().threads = threads;
        }
    }
    keep(std::move(added), news);
}

// A worker on spare cores is counted there, so that workers of other runs leave them to it.
void DataWorkerSet::borrow(const Member& member) const {
    for (const WorkerBeside& beside : beside_) {
        if (!beside.threads && member.threads > 0 && member.node == beside.node) {
            place_.nodes.borrow(member.node, member.name.key(),
                                schedule::withinNode(usedBy(beside, member.threads),
                                                     place_.nodes.standing(member.node).total));
        }
    }
}

// Writes first, so that a later daemon knows which nodes to ask.
void DataWorkerSet::keep(std::vector<Member> added, std::vector<std::string>& news) {
    if (added.empty()) {
        return;
    }
    const std::size_t before = members_.size();
    std::ranges::move(added, std::back_inserter(members_));
    if (const Status saved = save(); !saved.ok()) {
        logWarn("crew: not written, no worker is placed",
                {{"run", run_}, {"why", messageOf(saved)}});
        next_ -= static_cast<int>(added.size());
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(before), members_.end());
        return;
    }
    for (std::size_t i = before; i < members_.size(); ++i) {
        const Member& one = members_[i];
        borrow(one);
        if (!one.node.empty()) {
            news.push_back(strCat(one.name.worker(), " is placed on node ", one.node,
                                  one.threads == 0 ? "" : besideText(one.threads)));
        }
    }
}

void DataWorkerSet::release(Member& member, const std::string& why) {
    member.isLeaving = true;
    const EndRequest request =
        isEnding_ ? EndRequest{.why = "the attempt is over"} : EndRequest{kLeaveGrace, why};
    (void)place_.nodes.end(member.node, member.name.key(), request);
}

const NodeStatus& DataWorkerSet::standing(const std::string& node) {
    const auto [known, isNew] = standings_.try_emplace(node);
    if (isNew) {
        known->second = place_.nodes.standing(node);
    }
    return known->second;
}

// Releases a worker whose node is to be left. Other workers compute its segments.
void DataWorkerSet::leaveNode(Member& member, std::vector<std::string>& news) {
    if (isEnding_ || member.isLeaving || member.isOver()) {
        return;
    }
    if (const NodeStatus& node = standing(member.node); !node.leaving.empty()) {
        news.push_back(
            strCat("node ", member.node, " ", node.leaving, ": ", member.name.worker(), " leaves"));
        release(member, kNotNeeded);
    }
}

// Also called again when there is another feed to join.
void DataWorkerSet::place(Member& member, const std::string& joinFile) {
    Placement placement;
    placement.key = member.name.key();
    placement.gang = engines::gangText(dataGang(member.name, member.threads));
    placement.joinFile = joinFile;
    const Status status = place_.nodes.place(member.node, placement);
    if (status.ok() || absl::IsAlreadyExists(status)) {
        member.joinFile = joinFile;
    } else {
        member.state.reason = messageOf(status);
    }
}

void DataWorkerSet::look(Member& member) {
    if (member.isOver()) {
        return;
    }
    if (const auto state = place_.nodes.state(member.node, member.name.key())) {
        member.state = *state;
    } else if (member.isLeaving) {  // it was never there, or its end was reported
        member.state = {};
        member.state.phase = engines::Phase::kEnded;
    }
}

// Returns whether the worker must be replaced by another one.
bool DataWorkerSet::isLost(const Member& member, std::vector<std::string>& news) {
    if (member.isOver()) {
        const bool isFailed = member.state.cause == engines::Cause::kWorkerFailed ||
                              member.state.cause == engines::Cause::kEngineFailed;
        if (!isFailed || isInputError(member.state) || numFailed_ >= kFailedMost) {
            return false;
        }
        ++numFailed_;
        news.push_back(strCat(member.name.worker(), " is given up (", member.state.reason,
                              "); another one takes its place"));
        return true;
    }
    if (!standing(member.node).isLost) {
        return false;
    }
    news.push_back(strCat("node ", member.node, " is lost: ", member.name.worker(),
                          " starts elsewhere; it ends when the node comes back"));
    return true;
}

void DataWorkerSet::follow(std::vector<std::string>& news) {
    standings_.clear();
    const std::string joinFile =
        members_.empty() ? "" : readFile(paths_.joinFile(), kFileBytesMost).value_or("");
    bool isChanged = false;
    for (auto member = members_.begin(); member != members_.end();) {
        look(*member);
        leaveNode(*member, news);
        const bool isGone = !isEnding_ && member->isLeaving && member->isOver();
        const bool isReplaced = !isEnding_ && !member->isLeaving && isLost(*member, news);
        if (isReplaced) {
            (void)place_.nodes.end(member->node, member->name.key(),
                                   {.why = "another one has taken its place"});
        }
        if (isGone || isReplaced) {
            member = members_.erase(member);
            isChanged = true;
            continue;
        }
        const bool isStale = !joinFile.empty() && member->joinFile != joinFile;
        if (!isEnding_ && !member->isLeaving && isStale && !member->isOver()) {
            place(*member, joinFile);
        }
        ++member;
    }
    if (isChanged) {
        (void)save();
    }
}

void DataWorkerSet::meetTarget(std::vector<std::string>& news) {
    const int wanted = std::max(target(), numBeside());
    add(wanted - numStaying(), news);
    for (int has = numStaying(); has > wanted; --has) {
        const auto last = std::find_if(members_.rbegin(), members_.rend(), [](const Member& m) {
            return !m.isLeaving && m.threads == 0;
        });
        news.push_back(strCat(last->name.worker(), " is not needed any more and leaves"));
        release(*last, kNotNeeded);
    }
}

void DataWorkerSet::advise(const std::map<std::string, double>& metrics) {
    const auto wanted = metrics.find(values::metric::kLoaderDataWorkersWanted);
    wanted_ = wanted == metrics.end() ? wanted_ : wanted->second;
}

std::vector<std::string> DataWorkerSet::tick(bool isWanted) {
    std::vector<std::string> news;
    if (attempt_ == 0) {
        return news;
    }
    if (!isWanted) {
        end();
    }
    follow(news);
    if (!isEnding_) {
        keepBeside(news);
        meetTarget(news);
    }
    return news;
}

void DataWorkerSet::end() {
    if (std::exchange(isEnding_, true)) {
        return;
    }
    endedNs_ = place_.clock.steadyNs();
    for (Member& member : members_) {
        release(member, kNotNeeded);
    }
}

bool DataWorkerSet::isOver() const {
    const bool isLate = isEnding_ && place_.clock.steadyNs() - endedNs_ >= kEndNs;
    return isLate || std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
               return member.isOver() || !place_.nodes.standing(member.node).isThere;
           });
}

engines::State DataWorkerSet::with(const std::optional<engines::State>& gang) const {
    engines::State all = gang.value_or(engines::State());
    for (const Member& member : members_) {
        if (member.isLeaving && member.isOver() && member.state.workers.empty()) {
            continue;  // it has ended, and how is not known
        }
        engines::WorkerState worker;
        worker.name = member.name.worker();
        worker.isCritical = false;
        if (!member.state.workers.empty()) {
            worker = member.state.workers.front();
        }
        worker.node = member.node;
        all.workers.push_back(std::move(worker));
    }
    return all;
}

}  // namespace millrace::agent
