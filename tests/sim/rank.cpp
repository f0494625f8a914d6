#include "tests/sim/rank.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_name.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/stream/state/stream_state.h"
#include "tests/sim/cluster.h"

namespace millrace::sim {

double lossOf(std::int64_t step) {
    return 1.0 / static_cast<double>(step + 1);
}

Rank::Rank(Cluster& cluster, Machine& machine, const std::string& gang, engines::WorkerState state)
    : Worker(cluster, machine, gang, std::move(state)) {
    const std::size_t at = gang.rfind(".a");
    run_ = gang.substr(0, at);
    attempt_ = std::stoi(gang.substr(at + 2));
}

const Terms& Rank::terms() const {
    return cluster.judge().termsOf(run_);
}

void Rank::begin() {
    life.after(cluster.world.draw(200 * kMs, 3 * kSecond), [this] {
        const job::RunPaths paths(machine.root + "/runs", run_);
        const auto text = readFile(paths.attempt(attempt_).jobFile());
        const bool isLed = agent::PartName::parse(gang)->part > 0;
        if (!text.ok() || (isLed && !readFile(paths.attempt(attempt_).joinFile()).ok())) {
            return begin();  // the disk fails, or the relay has not joined the feed
        }
        const std::string resume = jsonString(*parseJson(*text, "job"), "resume");
        if (!seesHead() && !resume.empty() && !std::filesystem::exists(resume)) {
            cluster.judge().wrong(
                strCat(state.name, " resumes from ", resume, ", which is not there"));
        }
        const auto name = checkpoint::CheckpointName::parse(resume.substr(resume.rfind('/') + 1));
        resumedFrom_ = begun_ = ended_ = name.has_value() ? name->step : 0;
        Page& page = cluster.pageOf(machine, run_, attempt_);
        page.furthest = std::max(page.furthest, begun_);
        if (name.has_value()) {
            unacked_ = cluster.linesOf(run_, name->text());
        }
        connect();
        life.every(kSecond, [this] { send({0, -1, rank::Alive{}, 0}); });
        nextStep();
    });
}

std::vector<std::int64_t> Rank::untold() const {
    std::vector<std::int64_t> steps;
    for (const rank::RankLine& line : unacked_) {
        const auto* metrics = std::get_if<rank::Metrics>(&line.body);
        if (metrics != nullptr && metrics->step > savedStep_) {
            steps.push_back(metrics->step);
        }
    }
    return steps;
}

void Rank::end(int code) {
    if (connection_ != nullptr) {
        connection_->wire->close(To::kHead);
        connection_->rank = nullptr;
    }
    Worker::end(code);
}

void Rank::fail() {
    say(rank::ErrorLine{"ValueError: the loss is not a number"});
    life.after(20 * kMs, [this] { end(1); });
}

// A rank that hangs ignores SIGTERM too.
void Rank::terminate() {
    if (life.nowNs() >= hangsUntilNs_) {
        Worker::terminate();
    }
}

// Connects as LineLink does: it retries, and sends every unacknowledged line again.
void Rank::connect() {
    connection_ =
        cluster.links().connect(*this, {run_, attempt_, "rank", state.rank, state.pid, 1'000});
    if (connection_ == nullptr) {
        life.after(backoffNs_, [this] { connect(); });
        backoffNs_ = std::min(2 * backoffNs_, kSecond);
        return;
    }
    connection_->rank = this;
    backoffNs_ = 20 * kMs;
    for (const rank::RankLine& line : unacked_) {
        send(line);
    }
}

void Rank::closed() {
    connection_->isOpen = false;
    connection_->rank = nullptr;
    life.after(backoffNs_, [this] { connect(); });
}

void Rank::acked(std::int64_t attempt, std::uint64_t seq) {
    wasAcked_ = wasAcked_ || (attempt == attempt_ && seq > 0);
    std::erase_if(unacked_, [&](const rank::RankLine& line) {
        return line.attempt == attempt && line.seq <= seq;
    });
}

void Rank::told(const rank::Stop& how) {
    Page& page = cluster.pageOf(machine, run_, attempt_);
    cluster.world.tell(strCat("rank", state.rank, " at step ", begun_, " is told to stop",
                              how.kind == rank::Stop::Kind::kHold     ? ", and held"
                              : how.kind == rank::Stop::Kind::kBehind ? strCat(" behind ", how.step)
                                                                      : ""));
    switch (how.kind) {
        case rank::Stop::Kind::kNow:
            page.last = page.last < 0 ? page.furthest : page.last;
            break;
        case rank::Stop::Kind::kHold:
            page.isHeld = true;
            send({0, -1, rank::Held{page.furthest}, 0});
            break;
        case rank::Stop::Kind::kBehind:
            page.last = page.last < 0 ? std::max(page.furthest, how.step) : page.last;
            break;
    }
}

void Rank::say(rank::Body body) {
    unacked_.push_back({++seq_, attempt_, std::move(body), ended_});
    send(unacked_.back());
}

void Rank::send(const rank::RankLine& line) {
    if (connection_ != nullptr && connection_->isOpen) {
        cluster.links().say(connection_, line);
    }
}

std::string Rank::stateText() const {
    const std::string hash(32, '0');
    stream::StreamState state;
    state.cursor = stream::Cursor::start(hash, hash);
    state.rowsDelivered = ended_ * kRowsPerStep;
    return state.toText();
}

void Rank::nextStep() {
    if (const std::int64_t left = hangsUntilNs_ - cluster.world.nowNs(); left > 0) {
        return life.after(left, [this] { nextStep(); });
    }
    Page& page = cluster.pageOf(machine, run_, attempt_);
    const std::int64_t step = begun_ + 1;
    if (page.last >= 0 && step > page.last) {
        return state.rank == 0 && ended_ > resumedFrom_ ? checkpoint([this] { ending(); })
                                                        : ending();
    }
    if (page.isHeld && page.last < 0 && step > page.furthest) {
        return life.after(50 * kMs, [this] { nextStep(); });
    }
    if (step > terms().steps) {
        say(rank::Done{ended_, ended_ * kRowsPerStep, stateText(), {}, {}});
        return ending();
    }
    begun_ = step;
    page.furthest = std::max(page.furthest, step);
    cluster.judge().beginsStep(*this);
    life.after(cluster.world.draw(20 * kMs, 80 * kMs), [this] { meet(); });
}

Rank::Meets Rank::meets() const {
    const std::vector<Rank*>& ranks = cluster.ranksOf(run_, attempt_);
    bool areAllThere = static_cast<int>(ranks.size()) == terms().ranks;
    for (const Rank* one : ranks) {
        if (one->state.exitCode.has_value() && one->begun() < begun_) {
            return cluster.world.chance(50) ? Meets::kNever : Meets::kNotYet;
        }
        const bool isReached =
            &one->machine == &machine || (one->machine.cable.isWhole() && machine.cable.isWhole());
        areAllThere = areAllThere && isReached && one->begun() >= begun_;
    }
    return areAllThere ? Meets::kYes : Meets::kNotYet;
}

// Simulates an all-reduce: no rank ends a step before all have begun it.
void Rank::meet() {
    switch (meets()) {
        case Meets::kYes:
            return endStep();
        case Meets::kNotYet:
            return life.after(20 * kMs, [this] { meet(); });
        case Meets::kNever:
            return life.after(100 * kMs, [this] {
                cluster.judge().rankFailed(*this);
                end(1);
            });
    }
}

void Rank::endStep() {
    ended_ = begun_;
    if (state.rank == 0) {
        say(rank::Metrics{
            ended_, 0, ended_ * kRowsPerStep, machine.clock.wallMs(), {{"loss", lossOf(ended_)}}});
    }
    if (ended_ % 5 == 0) {
        say(rank::Progress{ended_, 0, ended_ * kRowsPerStep, terms().steps, "training", {}, 0});
    }
    if (state.rank == 0 && ended_ % terms().checkpointEvery == 0) {
        return checkpoint([this] { nextStep(); });
    }
    nextStep();
}

bool Rank::seesHead() const {
    return !cluster.plan.handsOver || &machine == &cluster.head();
}

// Nodes see the head's directory of checkpoints while its machine is up, or hand over theirs.
void Rank::checkpoint(std::function<void()> then) {
    const checkpoint::CheckpointName name{ended_, attempt_};
    const std::string folder =
        seesHead() ? job::RunPaths(cluster.head().root + "/runs", run_).checkpoints()
                   : job::RunPaths(machine.root + "/runs", run_).attempt(attempt_).checkpoints();
    const std::string path = folder + "/" + name.text();
    const Json meta = {{"step", ended_},
                       {"attempt", attempt_},
                       {"epoch", 0},
                       {"state", stateText()},
                       {"identity", {{"run", run_}, {"stream_hash", "stream"}}}};
    const auto written = seesHead() && cluster.head().isOff()
                             ? Result<checkpoint::Written>(unavailable("the disk is away"))
                             : checkpoint::writeCheckpointFile(path, meta, {});
    if (!written.ok()) {
        return life.after(500 * kMs, [this, then = std::move(then)] { checkpoint(then); });
    }
    cluster.linesOf(run_, name.text()) = unacked_;  // the checkpoint keeps the unacknowledged lines
    seesHead() ? savedAtHead(ended_) : void();
    const rank::Checkpoint told{ended_, name.text(), written->bytes, written->hash, stateText()};
    cluster.judge().saved(*this, told);
    say(told);
    then();
}

void Rank::ending() {
    isLeaving_ = true;
    cluster.judge().leaves(*this);
    say(rank::Progress{ended_, 0, ended_ * kRowsPerStep, terms().steps, "ending", {}, 0});
    leave();
}

// Leaves once its last lines are stored.
void Rank::leave() {
    if (unacked_.empty()) {
        return end(0);
    }
    life.after(50 * kMs, [this] { leave(); });
}

}  // namespace millrace::sim
