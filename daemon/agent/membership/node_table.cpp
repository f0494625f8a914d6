#include "daemon/agent/membership/node_table.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
// Agents send a sign of life every second.
constexpr std::int64_t kSilentNs = 3'000 * kNsPerMs;
// For this long after the head's start its runs may not have been read yet, so a gang that no run
// placed may still belong to one.
constexpr std::int64_t kUnknownNs = 60'000 * kNsPerMs;
// The table is used more often than this unless the head itself stood still or had nothing to do.
constexpr std::int64_t kBlindNs = 1'000 * kNsPerMs;

// A drained node's ranks have time for a step and a checkpoint, however long these take.
constexpr std::chrono::milliseconds kDrainGrace{10 * 60 * 1'000};
constexpr char kUnwanted[] = "no run follows it";

}  // namespace

NodeTable::NodeTable(NodeTableOptions options, const Clock& clock, const job::WorkerLogs& logs)
    : options_(std::move(options)),
      clock_(clock),
      logs_(logs),
      drained_(options_.drainedFile, options_.drained),
      lookedNs_(clock.steadyNs()) {}

void NodeTable::run(const std::vector<OutgoingOrders>& errands) {
    for (const auto& [session, orders] : errands) {
        if (session != nullptr) {
            session->send(orders);
        }
    }
}

NodeOrders::Placed NodeTable::orderOf(const Placement& placement) const {
    NodeOrders::Placed order{placement, {}};
    if (const auto owner = job::ownerOf(placement.key)) {
        for (const std::string& worker : workersOf(placement)) {
            order.logOffsets[worker] = logs_.end({owner->run, owner->attempt, worker});
        }
    }
    return order;
}

NodeTable::Node* NodeTable::nodeOf(const NodeSession& session) const {
    const auto node = bySession_.find(&session);
    return node == bySession_.end() ? nullptr : node->second;
}

void NodeTable::setSession(Node& node, std::shared_ptr<NodeSession> session) {
    bySession_.erase(node.session.get());
    node.session = std::move(session);
    node.isBeingRead = false;
    if (node.session != nullptr) {
        bySession_[node.session.get()] = &node;
    }
}

Status NodeTable::attach(const std::shared_ptr<NodeSession>& session, values::NodeInfo info,
                         std::map<std::string, engines::State> gangs, std::string machine) {
    const std::string name = info.name;
    if (name.empty() || name == options_.ownName) {
        return alreadyExists("node '", name,
                             "': the head's own node has this name; give the agent another --name");
    }
    std::vector<Placement> placements;
    NodeOrders orders;
    {
        MutexLock lock(mutex_);
        Node& node = nodes_[name];
        if (node.session != nullptr && standingOf(name, node).isThere) {
            return alreadyExists("node '", name,
                                 "': an agent of this name is here; give one of them another "
                                 "--name, or end it");
        }
        if (node.machine != machine && !node.machine.empty() && !node.isFree() && !node.hasLeft()) {
            return unavailable("node '", name,
                               "': runs have workers on another machine or in another state "
                               "directory of this name; this agent is taken in once they count as "
                               "lost, or at once with another --name");
        }
        node.info = std::move(info);
        node.machine = std::move(machine);
        setSession(node, session);
        node.heardNs = nowNs();
        node.heardMs = clock_.wallMs();
        node.gangs.clear();
        node.told.clear();
        node.report = {};
        node.trouble.clear();
        node.isRefused = node.mayGoOn = false;
        node.leave.reset();
        node.take(std::move(gangs));
        std::erase_if(node.ended, [&](const auto& one) { return !node.gangs.contains(one.first); });
        for (const auto& [key, placement] : node.placed) {
            placements.push_back(placement);
        }
        orders.ended = toEnd(node);
        orders.wantsSamples = numWatches_ > 0;
        orders.isEnd = isOver_;
        forgetOldest();
    }
    for (const Placement& placement : placements) {
        orders.placed.push_back(orderOf(placement));
    }
    logInfo("nodes: attached", {{"node", name}, {"placed", orders.placed.size()}});
    // A gang that was ended while the ends of logs were read must not start: the order to end it
    // was sent before this one.
    MutexLock lock(mutex_);
    const Node& node = nodes_[name];
    std::erase_if(orders.placed, [&](const NodeOrders::Placed& one) {
        return !node.placed.contains(one.placement.key);
    });
    session->send(orders);
    return okStatus();
}

void NodeTable::forgetOldest() {
    const std::int64_t awayNs = options_.away.count() * kNsPerMs, now = nowNs();
    std::erase_if(nodes_, [&](const auto& one) {  // its last reports have been read by then
        const Node& node = one.second;
        return node.hasLeft() && node.isFree() && now - node.heardNs >= awayNs;
    });
    while (nodes_.size() > kNodesMost) {
        const auto oldest = std::min_element(nodes_.begin(), nodes_.end(), [](auto& a, auto& b) {
            return a.second.heardNs < b.second.heardNs;
        });
        setSession(oldest->second, nullptr);
        nodes_.erase(oldest);
    }
}

std::optional<engines::State> NodeTable::lastWord(const std::string& name,
                                                  const std::string& key) const {
    MutexLock lock(mutex_);
    const auto node = nodes_.find(name);
    return node == nodes_.end() ? std::nullopt : node->second.lastWord(key);
}

// True if the gang belongs to an earlier attempt: its lines no longer count, even if nothing else
// is known of its run.
bool NodeTable::isOlder(const std::string& key) const {
    const auto owner = job::ownerOf(key);
    const auto run = owner.has_value() ? attempts_.find(owner->run) : attempts_.end();
    return run != attempts_.end() && owner->attempt < run->second;
}

// True if the gang belongs to a run that is not active: no run will claim it.
bool NodeTable::isNobodys(const std::string& key) const {
    const auto owner = job::ownerOf(key);
    return areRunsTold_ && owner.has_value() && !attempts_.contains(owner->run);
}

std::map<std::string, EndRequest> NodeTable::toEnd(Node& node) {
    const bool isOld = nowNs() - knownSinceNs_ >= kUnknownNs;
    std::map<std::string, EndRequest> ends;
    for (auto gang = node.gangs.begin(); gang != node.gangs.end();) {
        auto& [key, state] = *gang;
        const bool isUnwanted = !node.isWanted(key) && (isOld || isOlder(key) || isNobodys(key) ||
                                                        node.ended.contains(key));
        const auto asked = node.ended.find(key);
        if (isUnwanted && node.told.insert(key).second) {
            ends[key] = asked == node.ended.end() ? EndRequest{.why = kUnwanted} : asked->second;
        }
        if (isUnwanted && !isLiving(state)) {
            node.ended.erase(key);
            node.remember(key, std::move(state));
            gang = node.gangs.erase(gang);
        } else {
            ++gang;
        }
    }
    node.dropWorkers();
    return ends;
}

void NodeTable::arrived(const NodeSession& session) {
    MutexLock lock(mutex_);
    if (Node* node = nodeOf(session)) {
        node->isBeingRead = true;
    }
}

Status NodeTable::report(const NodeSession& session, NodeNews news) {
    std::vector<OutgoingOrders> errands;
    {
        MutexLock lock(mutex_);
        Node* node = nodeOf(session);
        if (node == nullptr) {
            return failedPrecondition("another agent has taken this node's place");
        }
        node->isBeingRead = false;
        node->heardNs = nowNs();
        node->heardMs = clock_.wallMs();
        node->take(std::move(news.gangs));
        if (news.sample.has_value()) {
            node->report = {node->report.number + 1, std::move(*news.sample)};
            node->report.sample.node = node->info.name;
            node->report.sample.timeMs = node->heardMs;
        }
        if (news.leave.has_value()) {
            node->leave = news.leave;
        }
        NodeOrders orders;
        orders.ended = toEnd(*node);
        orders.wantsSamples = numWatches_ > 0;
        if (!orders.ended.empty()) {
            errands.emplace_back(node->session, std::move(orders));
        }
    }
    run(errands);
    return okStatus();
}

std::optional<job::LogKey> NodeTable::logOf(const NodeSession& session, const std::string& key,
                                            const std::string& worker) const {
    MutexLock lock(mutex_);
    const Node* const node = nodeOf(session);
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto& workers = node->workers;
    const auto known = workers.find(key);
    const auto owner = job::ownerOf(key);
    const bool isKnown =
        owner.has_value() && known != workers.end() &&
        std::find(known->second.begin(), known->second.end(), worker) != known->second.end();
    return isKnown ? std::optional(job::LogKey{owner->run, owner->attempt, worker}) : std::nullopt;
}

std::vector<std::string> NodeTable::partWorkers(const NodeSession& session, const std::string& run,
                                                int attempt) const {
    std::vector<std::string> names;
    MutexLock lock(mutex_);
    const Node* const node = nodeOf(session);
    if (node == nullptr) {
        return names;
    }
    for (const auto& [key, kept] : node->kept) {
        const auto part = PartName::parse(key);
        if (part.has_value() && part->run == run && part->attempt == attempt) {
            names.insert(names.end(), kept.workers.begin(), kept.workers.end());
        }
    }
    return names;
}

Status NodeTable::takesFiles(const NodeSession& session, const std::string& run,
                             int attempt) const {
    const std::string key = PartName{run, attempt, 0}.key();
    MutexLock lock(mutex_);
    const Node* node = nodeOf(session);
    if (node == nullptr) {
        return unavailable("this agent is not attached");
    }
    const bool isOver = isOlder(key) || node->givenUp.contains(key);
    if (node->kept.contains(key) || (node->ended.contains(key) && !isOver)) {
        return okStatus();
    }
    if (isOver || nowNs() - knownSinceNs_ >= kUnknownNs) {
        return Status(absl::StatusCode::kAborted, strCat(key, " is over without this file"));
    }
    return unavailable(key, " is not known on this node yet");
}

void NodeTable::detach(const NodeSession& session) {
    std::shared_ptr<NodeSession> last;
    std::string name;
    bool hasLeft = false;
    {
        MutexLock lock(mutex_);
        if (Node* node = nodeOf(session)) {
            last = node->session;
            setSession(*node, nullptr);
            name = node->info.name;
            hasLeft = node->hasLeft();
        }
    }
    if (last == nullptr) {
        return;
    }
    logInfo("nodes: away", {{"node", name}});
    if (const Status status = hasLeft ? drained_.set(name, false) : okStatus(); !status.ok()) {
        logWarn("nodes: one that has left stays drained",
                {{"node", name}, {"why", messageOf(status)}});
    }
}

std::int64_t NodeTable::nowNs() const {
    const std::int64_t passed = clock_.steadyNs() - lookedNs_;
    lookedNs_ += passed;
    seenNs_ += std::min(passed, kBlindNs);
    return seenNs_;
}

NodeStatus NodeTable::standingOf(const std::string& name, const Node& node) const {
    const std::int64_t silentNs = node.isBeingRead ? 0 : nowNs() - node.heardNs;
    NodeStatus standing;
    standing.name = name;
    standing.address = node.info.address;
    standing.total = {static_cast<double>(node.info.cores), static_cast<int>(node.info.gpus.size()),
                      node.info.memoryBytes};
    standing.free = standing.total;
    for (const auto& [key, kept] : node.kept) {
        standing.free -= kept.needs;
    }
    for (const auto& [key, used] : node.borrowed) {
        standing.borrowed += used;
    }
    standing.numPlaced = static_cast<int>(node.placed.size());
    standing.heardMs = node.heardMs;
    standing.isThere = node.session != nullptr && silentNs < kSilentNs;
    standing.hasLeft = node.hasLeft();
    const auto away =
        node.mayGoOn ? std::max(options_.away, options_.awayOtherBuild) : options_.away;
    standing.isLost =
        !standing.isThere && (standing.hasLeft || silentNs >= away.count() * kNsPerMs);
    if (node.mayGoOn && !standing.isThere && !standing.isLost) {
        standing.held = strCat(
            node.trouble, ". What runs there goes on, and counts as ended ", away.count() / 60'000,
            " min after the node was last heard ('millrace nodes forget ", name, "': at once)");
    }
    if (node.leave.has_value()) {
        standing.leaving = "ends its agent";
        standing.leaveGrace = node.leave->grace;
    } else if (drained_.contains(name)) {
        standing.leaving = "is drained";
        standing.leaveGrace = kDrainGrace;
    }
    return standing;
}

Status NodeTable::checkIsOther(const std::string& name) const {
    if (name != options_.ownName) {
        return okStatus();
    }
    return invalidArgument(
        "node ", name, " is the head's own: ",
        options_.trainsHere
            ? "to keep runs off it start the daemon with --no-train-here"
            : "runs are kept off it, as the daemon was started with --no-train-here (or "
              "here.train: false); to let them on it start the daemon without that");
}

Status NodeTable::drain(const std::string& name, bool isDrained) {
    RETURN_IF_ERROR(checkIsOther(name));
    {
        MutexLock lock(mutex_);
        const auto found = nodes_.find(name);
        const bool isKnown =
            found == nodes_.end() ? drained_.contains(name) : !found->second.hasLeft();
        if (!isKnown) {
            return notFound("unknown node '", name, "'; 'millrace nodes' lists the nodes");
        }
    }
    RETURN_IF_ERROR(drained_.set(name, isDrained));
    logInfo("nodes: drained", {{"node", name}, {"drained", isDrained}});
    return okStatus();
}

Status NodeTable::forget(const std::string& name) {
    RETURN_IF_ERROR(drained_.set(name, false));
    std::shared_ptr<NodeSession> session;
    {
        MutexLock lock(mutex_);
        const auto found = nodes_.find(name);
        if (found == nodes_.end()) {
            return okStatus();
        }
        Node& node = found->second;
        session = node.session;
        setSession(node, nullptr);
        node.isRefused = node.mayGoOn = false;
        node.leave = NodeLeave{std::chrono::milliseconds(0), true};  // as a node that has left
    }
    if (session != nullptr) {
        NodeOrders orders;
        orders.isEnd = true;
        session->send(orders);
        session->shutOut({absl::StatusCode::kUnauthenticated,
                          strCat("node '", name, "' was forgotten ('millrace nodes forget')")});
    }
    return okStatus();
}

std::vector<NodeStatus> NodeTable::standings() const {
    std::vector<NodeStatus> all;
    MutexLock lock(mutex_);
    for (const auto& [name, node] : nodes_) {
        if (node.heardMs != 0) {
            all.push_back(standingOf(name, node));
        }
    }
    return all;
}

NodeStatus NodeTable::standing(const std::string& name) const {
    MutexLock lock(mutex_);
    static const Node kUnheard;
    const auto found = nodes_.find(name);
    return standingOf(name, found != nodes_.end() ? found->second : kUnheard);
}

void NodeTable::setUnread(bool areSomeUnread, std::map<std::string, int> attempts) {
    MutexLock lock(mutex_);
    const std::int64_t now = nowNs();  // counts as a look, also when no other call looks
    knownSinceNs_ = areSomeUnread ? now : knownSinceNs_;
    attempts_ = std::move(attempts);
    areRunsTold_ = true;
}

void NodeTable::keep(const std::string& name, const std::string& key,
                     const schedule::Resources& needs, std::vector<std::string> workers) {
    MutexLock lock(mutex_);
    nodes_[name].kept[key] = {needs, std::move(workers)};
}

void NodeTable::place(const std::string& name, const Placement& placement) {
    std::shared_ptr<NodeSession> session;
    NodeOrders orders;
    {
        MutexLock lock(mutex_);
        Node& node = nodes_[name];
        node.placed[placement.key] = placement;
        node.workers[placement.key] = workersOf(placement);
        node.ended.erase(placement.key);
        session = node.session;
        orders.wantsSamples = numWatches_ > 0;
    }
    if (session != nullptr) {
        orders.placed.push_back(orderOf(placement));
        session->send(orders);
    }
}

void NodeTable::end(const std::string& name, const std::string& key, const EndRequest& request) {
    std::vector<OutgoingOrders> errands;
    {
        MutexLock lock(mutex_);
        const auto found = nodes_.find(name);
        if (found == nodes_.end()) {
            return;
        }
        Node& node = found->second;
        if (node.unplace(key, request)) {
            NodeOrders orders;
            orders.ended = {{key, request}};
            orders.wantsSamples = numWatches_ > 0;
            errands.emplace_back(node.session, std::move(orders));
        }
    }
    run(errands);
}

Result<bool> NodeTable::has(const std::string& name, const std::string& key) const {
    const NodeStatus node = standing(name);
    if (node.isLost || state(name, key).has_value()) {
        return true;
    }
    if (!node.isThere) {
        return unavailable("node ", name, ", where its feed is, is away");
    }
    return false;
}

void NodeTable::giveUpFiles(const std::string& name, const std::string& key) {
    MutexLock lock(mutex_);
    nodes_[name].givenUp.insert(key);
}

std::optional<engines::State> NodeTable::state(const std::string& name,
                                               const std::string& key) const {
    MutexLock lock(mutex_);
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : found->second.state(key);
}

std::vector<values::NodeInfo> NodeTable::nodes() const {
    std::vector<values::NodeInfo> all;
    MutexLock lock(mutex_);
    for (const auto& [name, node] : nodes_) {
        const bool isShown = node.isExpected || node.isRefused;
        if (!isShown && (node.heardMs == 0 || (node.hasLeft() && node.isFree()))) {
            continue;
        }
        const NodeStatus standing = standingOf(name, node);
        values::NodeInfo info = node.info;
        info.name = name;
        info.state = stateOf(node, standing);
        info.awaySinceMs = standing.isThere ? 0 : node.heardMs;
        info.trouble = standing.held.empty() ? node.trouble : standing.held;
        all.push_back(std::move(info));
    }
    return all;
}

std::string NodeTable::stateOf(const Node& node, const NodeStatus& standing) const {
    if (!standing.isThere && node.isRefused) {
        return "refused";
    }
    if (!standing.isThere) {
        return node.heardMs == 0 ? "absent" : standing.isLost ? "lost" : "away";
    }
    if (node.leave.has_value()) {
        return "leaving";
    }
    if (standing.leaving.empty()) {
        return "attached";
    }
    const auto isMoving = [](const auto& gang) { return gang.second.handOver.has_value(); };
    return node.isFree() && std::ranges::none_of(node.gangs, isMoving) ? "drained" : "draining";
}

std::map<std::string, NodeReport> NodeTable::samples() const {
    std::map<std::string, NodeReport> all;
    MutexLock lock(mutex_);
    for (const auto& [name, node] : nodes_) {
        if (node.report.number > 0 && standingOf(name, node).isThere) {
            all.emplace(name, node.report);
        }
    }
    return all;
}

bool NodeTable::knows(const std::string& name) const {
    MutexLock lock(mutex_);
    const auto found = nodes_.find(name);
    return found != nodes_.end() && found->second.heardMs != 0;
}

void NodeTable::expect(const std::string& name, const std::string& trouble) {
    MutexLock lock(mutex_);
    Node& node = nodes_[name];
    node.isExpected = true;
    node.trouble = trouble;
}

void NodeTable::noteRefused(const std::string& name, const std::string& why, bool mayGoOn) {
    MutexLock lock(mutex_);
    if (name.empty() || name == options_.ownName) {
        return;
    }
    Node& node = nodes_[name];
    if (!standingOf(name, node).isThere) {
        node.isRefused = true;
        node.mayGoOn = mayGoOn;
        node.trouble = why;
    }
    forgetOldest();
}

std::shared_ptr<void> NodeTable::watch() {
    addWatch(1);
    return {this, [](NodeTable* table) { table->addWatch(-1); }};
}

void NodeTable::addWatch(int change) {
    std::vector<OutgoingOrders> errands;
    {
        MutexLock lock(mutex_);
        const bool wasWanted = numWatches_ > 0;
        numWatches_ += change;
        NodeOrders orders;
        orders.wantsSamples = numWatches_ > 0;
        for (const auto& [name, node] : nodes_) {
            if (orders.wantsSamples != wasWanted) {
                errands.emplace_back(node.session, orders);
            }
        }
    }
    run(errands);
}

bool NodeTable::isOver() const {
    MutexLock lock(mutex_);
    return isOver_;
}

void NodeTable::endAll() {
    std::vector<OutgoingOrders> errands;
    {
        MutexLock lock(mutex_);
        isOver_ = true;
        NodeOrders orders;
        orders.isEnd = true;
        for (const auto& [name, node] : nodes_) {
            errands.emplace_back(node.session, orders);
        }
    }
    run(errands);
}

}  // namespace millrace::agent
