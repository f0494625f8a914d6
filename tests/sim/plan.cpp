#include "tests/sim/plan.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "backend/core/status.h"

namespace millrace::sim {
namespace {

using Kind = Plan::Kind;

constexpr std::int64_t kJump = Plan::kJump;
constexpr int kKinds = static_cast<int>(Kind::kDoneFails) + 1;

std::string secondsOf(std::int64_t ms) {
    return strCat(ms / 1'000, ".", ms / 100 % 10, " s");
}

class Draws {
 public:
    explicit Draws(std::uint64_t seed) : random_(seed) {}
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least +
               static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
    }
    bool chance(int percent) { return between(0, 99) < percent; }

 private:
    std::mt19937_64 random_;
};

bool isOfAnyMachine(Kind kind) {
    return kind == Kind::kDiskFull || kind == Kind::kDiskFails || kind == Kind::kPowerCut ||
           kind == Kind::kClockJump || kind == Kind::kSlowStart || kind == Kind::kStray ||
           kind == Kind::kAdoptFails;
}

}  // namespace

bool Plan::has(Kind kind) const {
    return std::any_of(faults.begin(), faults.end(),
                       [kind](const Fault& fault) { return fault.kind == kind; });
}

Plan Plan::drawn(std::uint64_t seed) {
    Draws draw(seed);
    Plan plan;
    plan.nodes = static_cast<int>(draw.between(1, 2));
    plan.ranks = (1 + plan.nodes) * static_cast<int>(draw.between(1, 2));
    plan.steps = draw.between(60, 400);
    plan.checkpointEvery = draw.between(5, 40);
    for (std::int64_t i = draw.between(1, 3); i > 0; --i) {
        Fault fault;
        fault.kind = static_cast<Kind>(draw.between(0, kKinds - 1));
        fault.atMs = draw.between(1'000, 30'000);
        fault.forMs = draw.chance(40) ? draw.between(10'000, 60'000) : draw.between(1'000, 10'000);
        fault.node = static_cast<int>(draw.between(isOfAnyMachine(fault.kind) ? 0 : 1, plan.nodes));
        fault.rank = static_cast<int>(draw.between(0, plan.ranks - 1));
        fault.isUp = draw.chance(50);
        if (fault.kind == Kind::kUnreadable) {
            fault.forMs = draw.between(10'000, 150'000);
            plan.steps = draw.between(800, 2'500);  // long enough to notice the loss
        } else if (fault.kind == Kind::kNoTunnel) {
            fault.forMs = draw.between(1'000, 6'000);
        } else if (fault.kind == Kind::kSlowStart) {
            fault.atMs = 0;
            fault.rank = static_cast<int>(draw.between(1, 30));
        } else if (fault.kind == Kind::kSubmit) {
            fault.rank = static_cast<int>(draw.between(1, 10));
        } else if (fault.kind == Kind::kUsurper) {
            fault.forMs = draw.between(3'500, 9'000);
        } else if (fault.kind == Kind::kRefused) {
            fault.rank = static_cast<int>(draw.between(1, 15));
        } else if (fault.kind == Kind::kAdoptFails || fault.kind == Kind::kDoneFails) {
            fault.forMs = draw.between(500, 8'000);
        } else if (fault.kind == Kind::kLease) {
            fault.forMs = draw.between(62'000, 90'000);
        }
        plan.faults.push_back(fault);
    }
    // A restarted head does not know which machine had the name.
    std::erase_if(plan.faults, [&plan](const Fault& fault) {
        return (fault.kind == Kind::kTwin || fault.kind == Kind::kUsurper) &&
               (plan.has(Kind::kKillHead) || plan.has(Kind::kUnreadable) ||
                plan.has(Kind::kUpgrade) || plan.has(Kind::kPowerCut) || plan.has(Kind::kSpoilt) ||
                plan.has(Kind::kAdoptFails));
    });
    plan.trainNodes = 1 + plan.nodes;
    if (draw.chance(40)) {
        plan.trainsHere = false;
        plan.trainNodes = static_cast<int>(draw.between(1, plan.nodes));
        plan.ranks = plan.trainNodes * static_cast<int>(draw.between(1, 2));
    }
    for (std::int64_t i = draw.chance(25) ? draw.between(1, 2) : 0; i > 0; --i) {
        plan.faults.push_back({Kind::kSubmit, draw.between(0, 20'000), draw.between(2'000, 20'000),
                               static_cast<int>(draw.between(1, plan.nodes)),
                               static_cast<int>(draw.between(1, 10)), draw.chance(50)});
    }
    if (plan.has(Kind::kKillData) || draw.chance(30)) {
        plan.dataWorkers = static_cast<int>(draw.between(1, 3));
        plan.steps = std::max<std::int64_t>(plan.steps, 400);  // long enough to notice a loss
    }
    plan.handsOver = draw.chance(40);
    return plan;
}

std::string Plan::text() const {
    std::string text = strCat(nodes, " ", ranks, " ", steps, " ", checkpointEvery);
    if (!trainsHere || dataWorkers > 0 || handsOver) {
        strAppend(&text, " ", trainsHere ? 0 : trainNodes);
    }
    if (dataWorkers > 0 || handsOver) {
        strAppend(&text, " ", dataWorkers);
    }
    strAppend(&text, handsOver ? " 1" : "");
    for (const Fault& fault : faults) {
        strAppend(&text, " | ", static_cast<int>(fault.kind), " ", fault.atMs, " ", fault.forMs,
                  " ", fault.node, " ", fault.rank, " ", fault.isUp ? 1 : 0);
    }
    return text;
}

std::optional<Plan> Plan::of(std::string_view text) {
    Plan plan;
    long long steps = 0, every = 0;
    const std::string head(text.substr(0, text.find('|')));
    int elsewhere = 0, hands = 0;
    const int found =
        std::sscanf(head.c_str(), "%d %d %lld %lld %d %d %d", &plan.nodes, &plan.ranks, &steps,
                    &every, &elsewhere, &plan.dataWorkers, &hands);
    if (found < 4) {
        return std::nullopt;
    }
    plan.trainsHere = elsewhere == 0;
    plan.handsOver = hands != 0;
    plan.trainNodes = plan.trainsHere ? 1 + plan.nodes : elsewhere;
    plan.steps = steps;
    plan.checkpointEvery = every;
    for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 1)) {
        const std::string one(text.substr(at + 1, text.find('|', at + 1) - at - 1));
        Fault fault;
        int kind = 0, isUp = 0;
        long long begins = 0, lasts = 0;
        if (std::sscanf(one.c_str(), "%d %lld %lld %d %d %d", &kind, &begins, &lasts, &fault.node,
                        &fault.rank, &isUp) != 6 ||
            kind < 0 || kind >= kKinds) {
            return std::nullopt;
        }
        fault.kind = static_cast<Kind>(kind);
        if (fault.node < (isOfAnyMachine(fault.kind) ? 0 : 1) || fault.node > plan.nodes) {
            return std::nullopt;
        }
        fault.atMs = begins;
        fault.forMs = lasts;
        fault.isUp = isUp != 0;
        plan.faults.push_back(fault);
    }
    return plan;
}

namespace {

std::string sentenceOfRun(const Plan::Fault& fault) {
    const std::string machine = fault.node == 0 ? "the head's machine" : strCat("node", fault.node);
    const std::string at = strCat(" at ", secondsOf(fault.atMs));
    const std::string during = strCat(" for ", secondsOf(fault.forMs), at);
    switch (fault.kind) {
        case Kind::kSubmit:
            return strCat(fault.isUp ? "two runs are" : "another run is", " submitted", at, ": ",
                          fault.node, " nodes, ", fault.rank, " cores for each rank");
        case Kind::kCancel:
            return "the newest run is stopped for good" + at;
        case Kind::kStopTwice:
            return strCat("the run is stopped", at, ", and again with less grace");
        case Kind::kHang:
            return strCat("rank", fault.rank, fault.isUp ? " is stopped" + at : " hangs" + during);
        case Kind::kUsurper:
            return strCat("the cable of node", fault.node, " is cut", during,
                          ", and another machine comes with its name");
        case Kind::kLease:
            return strCat("the cable of node", fault.node, " is cut", during, ", its lease ends");
        case Kind::kStray:
            return strCat("workers of an unknown run live on ", machine, at);
        case Kind::kSpoilt:
            return strCat("the head is killed, and the ", fault.isUp ? "newest" : "first",
                          " run's spec cannot be read any more", at);
        case Kind::kRefused:
            return strCat("the store refuses the metrics of ", fault.rank, " steps", at);
        case Kind::kClients:
            return "users do as they like" + during;
        case Kind::kAdoptFails:
            return strCat("the head is killed", at, ", and the disk of ", machine, " fails for ",
                          secondsOf(fault.forMs), " as the next one begins");
        case Kind::kDoneFails:
            return strCat("the disk of the head fails for ", secondsOf(fault.forMs),
                          fault.rank % 2 == 1 ? " at done.json" : "", " as the run ends",
                          fault.isUp ? ", and a rank is killed" : "");
        default:
            return "";
    }
}

}  // namespace

std::string sentenceOf(const Plan::Fault& fault) {
    const std::string machine = fault.node == 0 ? "the head's machine" : strCat("node", fault.node);
    const std::string at = strCat(" at ", secondsOf(fault.atMs));
    const std::string during = strCat(" for ", secondsOf(fault.forMs), at);
    switch (fault.kind) {
        case Kind::kPauseHead:
            return "the head is paused" + during;
        case Kind::kPauseAgent:
            return strCat("the agent of node", fault.node, " is paused", during);
        case Kind::kKillHead:
            return "the head is killed, gone" + during;
        case Kind::kKillAgent:
            return strCat("the agent of node", fault.node, " is killed, gone", during);
        case Kind::kCut:
            return strCat("the cable of node", fault.node, " is cut", during);
        case Kind::kCutOneWay:
            return strCat("the cable of node", fault.node, " is cut ",
                          fault.isUp ? "towards the head" : "from the head", during);
        case Kind::kKillRank:
            return strCat("rank", fault.rank, " is killed", at);
        case Kind::kStop:
            return strCat("the run is stopped", at, ", and resumed");
        case Kind::kUnreadable:
            return "the head is killed, and its gang's record cannot be read" + during;
        case Kind::kNoTunnel:
            return strCat("the agent of node", fault.node,
                          " is killed, and no tunnel can be opened", during);
        case Kind::kDrain:
            return strCat("node", fault.node, " is drained", during);
        case Kind::kLeave:
            return strCat("the agent of node", fault.node, " leaves", at,
                          ", and another one comes");
        case Kind::kDiskFull:
            return strCat("the disk of ", machine, " is full", during);
        case Kind::kDiskFails:
            return fault.isUp ? strCat("one call to the disk of ", machine, " fails", at)
                              : strCat("the disk of ", machine, " fails", during);
        case Kind::kClockJump:
            return strCat("the clock of ", machine, " is set ", fault.forMs * kJump / 60'000,
                          " minutes ", fault.isUp ? "ahead" : "back", at);
        case Kind::kSecondHead:
            return "another head is started" + at;
        case Kind::kUpgrade:
            return "another build is installed, the head is away" + during;
        case Kind::kTwin:
            return strCat("another machine has an agent with the name of node", fault.node, during);
        case Kind::kSlowStart:
            return strCat("starts on ", machine, " take ", fault.rank, " s", during);
        case Kind::kKillData:
            return "a data worker is killed" + at;
        case Kind::kPowerCut:
            return strCat(machine, " loses its power, is off", during);
        default:
            return sentenceOfRun(fault);
    }
    return "";
}

}  // namespace millrace::sim
