#include "tests/sim/clients.h"

#include "tests/sim/cluster_head.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kMostRuns = 6;

}  // namespace

void Clients::come(std::int64_t ns) {
    askUntil(cluster_.world.nowNs() + ns);
}

void Clients::askUntil(std::int64_t ns) {
    if (cluster_.world.nowNs() < ns) {
        cluster_.canAsk() ? ask() : void();
        cluster_.world.after(cluster_.world.draw(50 * kMs, 2 * kSecond),
                             [this, ns] { askUntil(ns); });
    }
}

void Clients::ask() {
    World& world = cluster_.world;
    const auto last = static_cast<std::int64_t>(cluster_.runs_.size()) - 1;
    const std::string run = cluster_.runs_[static_cast<std::size_t>(world.draw(last))];
    switch (world.draw(5)) {
        case 0:
            submit();
            break;
        case 1:
            if (stop(run, std::chrono::seconds(10))) {
                cluster_.judge_->mayEnd(run, values::RunState::kCancelled);
            }
            break;
        case 2:
        case 3:
            resume(run);
            break;
        case 4:
            remove(run, world.chance(30));
            break;
        default:
            if (cluster_.head_->service->restore(run).ok()) {
                world.tell(run + " is restored");
                cluster_.judge_->restored(run);
            }
    }
}

void Clients::submit() {
    Terms terms;
    terms.parts = cluster_.plan.trainNodes;
    terms.ranks = terms.parts;
    terms.threads = static_cast<int>(cluster_.world.draw(1, 6));
    terms.steps = cluster_.world.draw(10, 100);
    if (cluster_.runs_.size() < kMostRuns) {
        (void)cluster_.submit(terms);
    }
}

bool Clients::stop(const std::string& run, std::chrono::seconds grace) {
    if (!cluster_.head_->service->stop(run, "asked to", grace).ok()) {
        return false;
    }
    cluster_.world.tell(run + " is asked to stop");
    cluster_.judge_->stopped(run, grace.count() * kSecond);
    cluster_.poke();
    return true;
}

// Resumes the run from its last checkpoint, or from the start if there is none. It may begin at
// once.
void Clients::resume(const std::string& run) {
    const Result<runs::RunRecord> record = cluster_.head_->store->get(run);
    if (cluster_.judge_->isRemoved(run) || !record.ok() || !values::isEnded(record->state)) {
        return;
    }
    cluster_.judge_->blame(run, "it is over");
    cluster_.judge_->resumed(run);
    for (const std::int64_t from : {values::kFromLast, values::kFromStart}) {
        if (cluster_.head_->service->resume(run, from).ok()) {
            cluster_.world.tell(run + " is resumed");
            return cluster_.poke();
        }
    }
    cluster_.judge_->mayEnd(run, record->state);  // the run stays ended
}

void Clients::remove(const std::string& run, bool isForGood) {
    if (cluster_.head_->service->remove(run, isForGood).ok()) {
        cluster_.world.tell(run + (isForGood ? " is deleted for good" : " is deleted"));
        cluster_.judge_->removed(run, isForGood);
    }
}

}  // namespace millrace::sim
