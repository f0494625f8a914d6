#include "tests/sim/cluster.h"

#include <algorithm>
#include <utility>

#include "backend/runs/database.h"
#include "backend/stream/plan.h"
#include "daemon/config/daemon_config.h"
#include "tests/sim/cluster_head.h"
#include "tests/sim/leftovers.h"
#include "tests/sim/sim_files.h"

namespace millrace::sim {
namespace {

constexpr std::int64_t kLimitNs = 900 * kSecond;

}  // namespace

Cluster::Cluster(std::uint64_t seed, Plan drawn, std::string root)
    : world(seed), root(std::move(root)), plan(std::move(drawn)) {
    for (int i = 0; i <= plan.nodes; ++i) {
        machines_.push_back(std::make_unique<Machine>(*this, i == 0 ? "head" : strCat("node", i), i,
                                                      plan.has(Plan::Kind::kPowerCut)));
    }
    if (plan.has(Plan::Kind::kTwin) || plan.has(Plan::Kind::kUsurper)) {
        machines_.push_back(std::make_unique<Machine>(*this, "twin", plan.nodes + 1, false));
    }
    slots_.resize(machines_.size());
    judge_ = std::make_unique<Judge>(world, machines_, plan.trainsHere);
}

Cluster::~Cluster() {
    for (auto& machine : machines_) {
        machine->agent.end();
    }
    slots_.clear();
    if (head_ != nullptr) {
        head_->controller.reset();
    }
    head_.reset();
}

void Cluster::startHead() {
    if (head_ != nullptr || head().isOff()) {
        return;
    }
    head().agent.begin();
    head().busyNs = 0;
    world.tell("the head begins");
    if (const Status opened = openHead(); !opened.ok()) {
        world.tell(strCat("the head cannot begin: ", messageOf(opened)));
        killHead();
        return world.after(kSecond, [this] { startHead(); });
    }
    head().agent.every(250 * kMs, [this] { drainHead(); });
    head().agent.every(3 * kSecond, [this] { (void)head_->lock->beat(); });
    head().agent.every(100 * kMs, [this] {
        for (const auto& [key, state] : head_->poller->pollOnce()) {
            head_->controller->post(key, state);
            poke();
        }
    });
}

// Counts the time, because the head's turn may have taken some.
void Cluster::drainHead() {
    const Turn turn(*this);
    head_->controller->drain();
    head().agent.busy(std::exchange(head().busyNs, 0));
}

Result<config::StateLock> Cluster::takeStateDirectory() {
    config::StateLockTerms terms;
    terms.what = "the head's state directory";
    terms.here = {"head", strCat("boot", head().numBoots), 1, "head"};
    terms.pause = [](std::chrono::milliseconds) {};
    return config::StateLock::take(head().root + "/millraced.lock", std::move(terms));
}

Status Cluster::openHead() {
    Machine& machine = head();
    head_ = std::make_unique<Head>(*this);
    Head& one = *head_;
    one.maker = std::make_unique<Doors>(*this);
    ASSIGN_OR_RETURN(config::StateLock lock, takeStateDirectory());
    one.lock.emplace(std::move(lock));
    ASSIGN_OR_RETURN(one.store, runs::RunStore::open(machine.root + "/runs.sqlite", machine.clock));
    agent::NodeTableOptions options;
    options.ownName = "head";
    one.table = std::make_unique<agent::NodeTable>(options, machine.clock, one.logs);
    one.reports = std::make_unique<nodes::AgentReports>(machine.root + "/runs", machine.program,
                                                        *one.table, one.tokens, machine.clock);
    one.tokens.serve(kToken, nullptr);
    agent::ControllerOptions control;
    control.runsDir = machine.root + "/runs";
    one.nodes = std::make_unique<agent::AllNodes>(
        agent::OwnNode({"head", control.runsDir, "/opt/bin", plan.trainsHere, "head"}, one.engine,
                       [] {}),
        *one.table);
    one.poller = std::make_unique<engines::Poller>(one.engine);
    one.controller = std::make_unique<agent::RunController>(
        control, agent::ControllerParts{.store = *one.store,
                                        .engine = one.engine,
                                        .listeners = *one.maker,
                                        .live = one.live,
                                        .clock = machine.clock,
                                        .logs = one.logs,
                                        .pokeEngine = [] {},
                                        .nodes = *one.nodes});
    one.deleted = std::make_unique<agent::DeletedRuns>(machine.root + "/runs", *one.store,
                                                       machine.clock, std::chrono::days(30));
    one.service = std::make_unique<agent::RunService>(
        agent::ServiceOptions{machine.root + "/runs", "head", 1 << 20, "0.1.0", "{}"}, *one.store,
        one.live, one.inspector, *one.controller, *one.deleted);
    return one.controller->recover();
}

void Cluster::killHead() {
    world.tell("the head is killed");
    head().agent.end();
    links_.closeAllFromHead();
    for (const auto& session : head_->sessions) {
        if (const auto open = session.lock()) {
            open->shutOut(okStatus());
        }
    }
    const Disk::Dead dead(head().disk);
    head_->controller.reset();  // destroys its listeners too
    head_.reset();
    isPokeDue_ = false;
}

/// Wakes the controller's thread for new messages; it collects more for a moment.
void Cluster::poke() {
    if (!std::exchange(isPokeDue_, true)) {
        head().agent.after(20 * kMs, [this] {
            isPokeDue_ = false;
            drainHead();
        });
    }
}

std::chrono::milliseconds Cluster::leaseOf(const Machine& machine) const {
    const bool isLeased =
        std::any_of(plan.faults.begin(), plan.faults.end(), [&](const Plan::Fault& fault) {
            return fault.kind == Plan::Kind::kLease && fault.node == machine.number;
        });
    return std::chrono::milliseconds(isLeased ? 60'000 : 0);
}

void Cluster::startAgent(Machine& machine) {
    const auto i = static_cast<std::size_t>(machine.number);
    if (machine.agent.isAlive() || machine.isOff()) {
        return;
    }
    machine.agent.begin();
    machine.hasBegun = true;
    machine.busyNs = 0;
    machine.build = machine.program;
    world.tell(strCat("the agent of ", machine.name, " begins"));
    config::DaemonConfig config;
    config.stateDir = machine.root;
    config.binDir = "/opt/bin";
    config.nodeName = machine.nodeName;
    config.isBound = true;
    config.lease = leaseOf(machine);
    nodes::SlotParts parts;
    parts.engine = std::make_unique<SimEngine>(machine);
    parts.link = std::make_unique<NodeLink>(*this, machine);
    if (plan.handsOver) {
        parts.files = std::make_unique<SimFiles>(*this, machine);
    }
    parts.info.name = machine.nodeName;
    parts.machine = machine.name;
    parts.info.cores = 16;
    parts.info.memoryBytes = std::uint64_t{64} << 30;
    parts.openTunnel =
        [this,
         &machine](const agent::PartName& part) -> Result<std::unique_ptr<nodes::PartTunnel>> {
        if (world.nowNs() < machine.noTunnelUntilNs && machine.gangs.contains(part.key())) {
            return permissionDenied("the socket's directory: permission denied");
        }
        return std::unique_ptr<nodes::PartTunnel>(new Tunnel(*this, machine, part.key()));
    };
    slots_[i] = std::make_unique<nodes::Slot>(config, machine.clock, [] {}, std::move(parts));
    machine.agent.every(200 * kMs, [this, i, &machine] {
        slots_[i]->turn();
        machine.agent.busy(std::exchange(machine.busyNs, 0));
        if (slots_[i]->isOver()) {
            world.after(0, [this, &machine] { agentEnded(machine); });
        }
    });
}

// An agent that its head refuses becomes the installed program, or is not started again. If it was
// told to leave, the rest of its workers ends with it, and another agent starts.
void Cluster::agentEnded(Machine& machine) {
    if (!machine.agent.isAlive()) {
        return;
    }
    const Status why = slots_[static_cast<std::size_t>(machine.number)]->failure();
    world.tell(strCat("the agent of ", machine.name, " ends: ", messageOf(why)));
    killAgent(machine);
    if (nodes::isRefusal(why)) {
        const bool isOther = machine.build != machine.program && absl::IsFailedPrecondition(why);
        return isOther ? startAgent(machine) : void();
    }
    machine.isToBeLeft = false;
    for (auto& [key, gang] : machine.gangs) {
        machine.cancel(gang, engines::Cause::kCancelled, kSecond, "its agent has ended");
    }
    world.after(2 * kSecond, [this, &machine] { startAgent(machine); });
}

void Cluster::killAgent(Machine& machine) {
    const auto i = static_cast<std::size_t>(machine.number);
    world.tell(strCat("the agent of ", machine.name, " is killed"));
    machine.agent.end();
    const Disk::Dead dead(machine.disk);
    slots_[i].reset();
}

bool Cluster::areRanksDone(const std::string& gang) {
    const auto name = *agent::PartName::parse(gang);
    const std::vector<Rank*>& ranks = ranksOf(name.run, name.attempt);
    return static_cast<int>(ranks.size()) == judge_->termsOf(name.run).ranks &&
           std::all_of(ranks.begin(), ranks.end(),
                       [](const Rank* rank) { return rank->state.exitCode == 0; });
}

bool Cluster::canAsk() const {
    return head_ != nullptr && !machines_.front()->agent.isPaused();
}

std::string Cluster::submit(const Terms& terms) {
    agent::InspectedRun run = agent::someInspected();
    stream::Plan dataset;
    dataset.segmentSplits = 1;
    run.plan = std::make_shared<const std::string>(dataset.toJsonText());
    run.spec["command"] = {"/bin/true"};
    run.spec["batch"]["rows"] = 64 * (12 % terms.ranks == 0 ? 12 : terms.ranks);
    run.spec["batch"]["micro_rows"] = 64;
    run.spec["train"]["ranks"] = terms.ranks;
    run.spec["train"]["nodes"] = terms.parts;
    run.spec["train"]["threads"] = terms.threads;
    run.spec["train"]["max_restarts"] = 1'000;
    run.spec["train"]["max_steps"] = terms.steps;
    run.spec["resources"]["loader_threads"] = 1;
    run.spec["resources"]["data_workers"] = {{"min", terms.dataWorkersLeast()},
                                             {"max", terms.dataWorkers}};
    head_->inspector.reply->runs = {run};
    values::SubmitRequest request;
    request.specText = "name: movielens\n";
    request.fileName = "spec.yaml";
    request.baseDir = "/data";
    request.owner = "ann";
    const auto submitted = head_->service->submit(request);
    if (!submitted.ok()) {
        world.tell("submit: " + std::string(messageOf(submitted.status())));
        return "";
    }
    const std::string& id = submitted->runs.at(0).id;
    runs_.push_back(id);
    judge_->submitted(id, terms);
    world.tell(strCat("submitted: ", id, " with ", terms.parts, " parts"));
    poke();
    return id;
}

Status Cluster::changeStore(const std::string& sql) const {
    const std::string path = machines_.front()->root + "/runs.sqlite";
    ASSIGN_OR_RETURN(const auto database, runs::Database::open(path, runs::Database::Mode::kWrite));
    return database->exec(sql);
}

void Cluster::submitFirst() {
    if (!canAsk() ||
        submit({plan.trainNodes, plan.ranks, plan.steps, plan.checkpointEvery, plan.dataWorkers, 1})
            .empty()) {
        world.after(kSecond, [this] { submitFirst(); });
    }
}

bool Cluster::isAtRest(std::string* why) {
    if (head_ == nullptr || runs_.empty()) {
        *why = "there is no head";
        return false;
    }
    for (const std::string& id : runs_) {
        if (judge_->isRemoved(id)) {
            continue;
        }
        const Result<runs::RunRecord> run = head_->store->get(id);
        if (!run.ok() || !values::isEnded(run->state)) {
            *why = run.ok() ? strCat("the run is ", values::nameOf(run->state), ", ",
                                     head_->live.get(id).queuedReason)
                            : std::string(messageOf(run.status()));
            return false;
        }
    }
    *why = Leftovers(*this).find();
    if (!why->empty()) {
        return false;
    }
    for (const values::NodeInfo& node : head_->table->nodes()) {
        if (node.state != "attached") {
            *why = strCat(node.name, " is ", node.state);
            return false;
        }
    }
    return true;
}

void Cluster::begin() {
    startHead();
    for (int i = 1; i <= plan.nodes; ++i) {
        startAgent(*machines_[static_cast<std::size_t>(i)]);
    }
    world.after(2 * kSecond, [this] { submitFirst(); });
}

void Cluster::runUntil(std::int64_t ns) {
    if (world.nowNs() == 0) {
        begin();
    }
    for (std::int64_t at = world.nowNs() + kSecond; at <= ns; at += kSecond) {
        world.runUntil(at, [this] { judge_->look(); });
        judge_->check(head_ != nullptr ? head_->store.get() : nullptr);
    }
}

void Cluster::run() {
    begin();
    std::int64_t lastNs = 5 * kSecond;
    for (const Plan::Fault& fault : plan.faults) {
        world.tell("drawn: " + sentenceOf(fault));
        world.at(2 * kSecond + fault.atMs * kMs, [this, fault] { faults_.happen(fault); });
        lastNs =
            std::max(lastNs, 2 * kSecond + fault.atMs * kMs + fault.forMs * kMs + 45 * kSecond);
    }
    std::string why;
    for (std::int64_t ns = kSecond; ns < lastNs + kLimitNs && problems().size() < 9;
         ns += kSecond) {
        world.runUntil(ns, [this] { judge_->look(); });
        judge_->check(head_ != nullptr ? head_->store.get() : nullptr);
        if (ns >= lastNs && isAtRest(&why)) {
            return judge_->checkEnd(*head_->store, head().root);
        }
    }
    if (problems().empty()) {
        judge_->wrong("it does not come to rest: " + why);
    }
}

}  // namespace millrace::sim
