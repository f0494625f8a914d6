#include "daemon/agent/run/run_health.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/text/text.h"
#include "backend/values/metric_names.h"
#include "daemon/agent/run/rank_listener.h"

namespace millrace::agent {
namespace {

// Looks come four times a second; after a longer gap the daemon itself stood still.
constexpr std::int64_t kBlindNs = 5'000 * kNsPerMs;
constexpr std::size_t kMostTroubleBytes = 1'000;
constexpr std::size_t kMostWorkers = 4'096;
constexpr char kLossTrouble[] = "loss";

std::string secondsText(std::int64_t ns) {
    return formatDuration(static_cast<double>(ns / kNsPerMs) / 1e3);
}

// A worker's message may have any length; this does not cut a character in two.
std::string clipped(const std::string& text) {
    if (text.size() <= kMostTroubleBytes) {
        return text;
    }
    std::size_t end = kMostTroubleBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        --end;
    }
    return text.substr(0, end) + " ...";
}

std::string guardianOf(const std::string& worker) {
    return "guardian of " + worker;
}

// Needed because the worker's own signs of life do not pass through its guardian: nothing else
// would report the guardian's silence.
std::string unguarded(const std::string& worker) {
    return strCat("the guardian of ", worker,
                  " does not answer: it is stopped, or the machine is overloaded; a stop of the "
                  "run, the worker's log and its end wait for it");
}

// A loss by its name: "loss", "train_loss". The built-in trainer's "loss.HEAD" is NaN for a step
// without a label of that head, and an evaluation may have no rows.
bool isLoss(std::string_view name) {
    return name.find("loss") != std::string_view::npos && !name.starts_with("loss.") &&
           !name.starts_with(values::metric::kEvalPrefix);
}

// "loss became NaN at step 12"; "" if all losses are finite. A step in which no row has a weight
// has no loss.
std::string lossTrouble(const rank::Metrics& metrics) {
    for (const auto& [name, value] : metrics.values) {
        if (isLoss(name) && !std::isfinite(value) &&
            !metrics.values.contains(values::metric::kStepsWithoutWeight)) {
            return strCat(clipped(name), " became ", std::isnan(value) ? "NaN" : "infinite",
                          " at step ", metrics.step);
        }
    }
    return "";
}

// Shifts its signs by a time span that does not count.
void shift(WorkerSigns& signs, std::int64_t byNs, std::int64_t nowNs) {
    for (std::int64_t* time : {&signs.sinceNs, &signs.heardNs, &signs.workedNs, &signs.steppedNs,
                               &signs.awaitsSinceNs}) {
        *time = std::min(nowNs, *time + byNs);
    }
    signs.waitsSinceNs = signs.waitsSinceNs == 0 ? 0 : std::min(nowNs, signs.waitsSinceNs + byNs);
}

}  // namespace

char processStateOf(int pid) {
    const Result<std::string> stat = pid > 0 ? readFile(strCat("/proc/", pid, "/stat"))
                                             : Result<std::string>(notFound("no pid"));
    // The name before it is in brackets and may contain anything.
    const std::size_t end = stat.ok() ? stat->rfind(')') : std::string::npos;
    return end != std::string::npos && end + 2 < stat->size() ? (*stat)[end + 2] : '\0';
}

RunHealth::RunHealth(const Clock& clock) : RunHealth(clock, &processStateOf) {}

void RunHealth::restart() {
    signs_.clear();
    places_.clear();
    pids_.clear();
    still_.clear();
    ranks_.clear();
    recent_.clear();
    troubles_.clear();
    told_.clear();
    lookedNs_ = 0;
}

WorkerSigns* RunHealth::find(const std::string& worker) {
    const auto place = places_.find(worker);
    return place == places_.end() ? nullptr : &signs_[place->second];
}

void RunHealth::drop(const std::string& worker) {
    if (find(worker) == nullptr) {
        return;
    }
    std::erase_if(signs_, [&](const WorkerSigns& s) { return s.worker == worker; });
    places_.clear();
    for (const WorkerSigns& signs : signs_) {
        places_.emplace(signs.worker, places_.size());
    }
}

// Null if a peer names more ranks than there can be.
WorkerSigns* RunHealth::findOrAdd(const std::string& worker, bool isRank) {
    WorkerSigns* known = find(worker);
    if (known != nullptr || signs_.size() >= kMostWorkers) {
        return known;
    }
    WorkerSigns signs;
    signs.worker = worker;
    signs.isRank = isRank;
    signs.sinceNs = signs.heardNs = signs.workedNs = signs.steppedNs = clock_.steadyNs();
    places_.emplace(worker, signs_.size());
    signs_.push_back(std::move(signs));
    return &signs_.back();
}

int RunHealth::pidOf(const std::string& worker) const {
    const auto found = pids_.find(worker);
    return found == pids_.end() ? 0 : found->second;
}

void RunHealth::setWorkers(const engines::State& state) {
    for (const engines::WorkerState& worker : state.workers) {
        if (worker.exitCode.has_value()) {
            drop(worker.name);
            still_.erase(worker.name);
            for (const std::string& who : {worker.name, guardianOf(worker.name)}) {
                troubles_.erase(who);
                told_.erase(who);
            }
        } else if (worker.isStarted) {
            if (worker.isCritical) {  // a data worker is connected to its feed only
                (void)findOrAdd(worker.name, worker.rank >= 0);
            }
            pids_[worker.name] = worker.node.empty() ? static_cast<int>(worker.pid) : 0;
            setTrouble(guardianOf(worker.name), worker.isSilent ? unguarded(worker.name) : "");
        }
    }
}

void RunHealth::hello(const rank::Sender& sender) {
    WorkerSigns* signs = findOrAdd(workerNameOf(sender), sender.role == "rank");
    if (signs == nullptr) {
        return;
    }
    const std::int64_t now = clock_.steadyNs();
    // A worker that only reconnects does not start again.
    signs->workedNs = signs->hasSaidHello ? signs->workedNs : now;
    signs->hasSaidHello = true;
    signs->promisesAlive = sender.aliveMs > 0;
    signs->heardNs = now;
    pids_[signs->worker] = static_cast<int>(sender.pid);
}

void RunHealth::heard(const rank::Sender& sender, const rank::RankLine& line) {
    WorkerSigns* signs = find(workerNameOf(sender));
    if (signs == nullptr) {
        return;  // it has ended: this was still in its socket
    }
    // Silence does not count as work time: neither for the process itself, nor for ranks that
    // waited for a silent feed.
    const std::int64_t now = clock_.steadyNs(), silentNs = now - signs->heardNs;
    const bool wasSilent = still_.contains(signs->worker) && silentNs >= kBlindNs;
    if (wasSilent) {
        for (WorkerSigns& other : signs_) {
            if (&other == signs || (!signs->isRank && other.isRank)) {
                shift(other, silentNs, now);
            }
        }
    }
    signs->heardNs = now;
    if (const auto* alive = std::get_if<rank::Alive>(&line.body)) {
        signs->awaitsSinceNs = signs->awaits == alive->awaits ? signs->awaitsSinceNs : now;
        signs->awaits = alive->awaits;
        const std::string& trouble = alive->trouble;
        setTrouble(signs->worker,
                   trouble.empty() ? "" : strCat(signs->worker, ": ", clipped(trouble)));
    } else if (line.attempt == sender.attempt) {
        note(*signs, line);
        if (signs->isRank && sender.rank < values::kRanksTold) {
            noteRank(static_cast<int>(sender.rank), line);
        }
    }
}

std::int64_t RunHealth::stepOf(int rank) const {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() ? 0 : found->second.step;
}

void RunHealth::noteRank(int rank, const rank::RankLine& line) {
    values::RankNow& now = ranks_[rank];
    if (const auto* progress = std::get_if<rank::Progress>(&line.body)) {
        now.phase = values::phaseOf(progress->phase);
        now.step = std::max(now.step, progress->step);
        now.times = progress->times;
        now.timeMs = clock_.wallMs();
        RecentReports& recent = recent_[rank];
        recent.note(progress->times, progress->step, now.timeMs);
        now.stallPercentNow = recent.stallPercent();
        return;
    }
    const auto* metrics = std::get_if<rank::Metrics>(&line.body);
    const auto took = metrics == nullptr ? rank::Values::const_iterator()
                                         : metrics->values.find(values::metric::kRankStepMs);
    if (metrics == nullptr || took == metrics->values.end()) {
        return;
    }
    const auto waited = metrics->values.find(values::metric::kRankWaitMs);
    now.step = std::max(now.step, metrics->step);
    now.stepMs = took->second;
    const bool isKnown = waited != metrics->values.end() && took->second > 0;
    now.stepStallPercent =
        isKnown ? std::optional(100 * waited->second / took->second) : std::nullopt;
    now.steppedMs = clock_.wallMs();
}

// Learns from a time that has ended how long its work takes. A time that ended only after the
// worker had been called hung counts less: it may have been a hang.
void RunHealth::learn(WorkerSigns& signs, std::int64_t tookNs) const {
    const auto still = still_.find(signs.worker);
    if (!signs.hasWorked) {
        return;
    }
    if (still == still_.end()) {
        learnPace(signs, tookNs);
    } else if (still->second.what.standing == Standing::kHung) {
        learnStandstill(signs, tookNs, limits_);
    }
}

void RunHealth::noteStep(WorkerSigns& signs, std::int64_t step) const {
    signs.steppedNs = step > signs.step ? clock_.steadyNs() : signs.steppedNs;
    signs.step = step;
}

void RunHealth::note(WorkerSigns& signs, const rank::RankLine& line) {
    const std::int64_t now = clock_.steadyNs();
    if (const auto* metrics = std::get_if<rank::Metrics>(&line.body); metrics && !signs.isRank) {
        const auto read = metrics->values.find(values::metric::kLoaderRowsReadPerSecond);
        signs.rowsReadPerSecond = read == metrics->values.end() ? 0 : read->second;
        signs.rowsReadNs = now;
    }
    learn(signs, now - signs.workedNs);
    signs.workedNs = now;
    if (const auto* progress = std::get_if<rank::Progress>(&line.body)) {
        signs.hasWorked = true;
        noteStep(signs, progress->step);
        signs.isEvaluating = progress->phase == "evaluating";
        signs.isWritingCheckpoint = progress->phase == "checkpoint";
        signs.isEnding = signs.isEnding || progress->phase == "ending";
        // Computed with the daemon's time of the report and the worker's time span, so it is never
        // before the step.
        const auto waits = static_cast<std::int64_t>(std::clamp(progress->waitingMs, 0.0, 1e12) *
                                                     static_cast<double>(kNsPerMs));
        signs.waitsSinceNs = waits > 0 ? now - waits : 0;
        return;
    }
    // The line of an earlier checkpoint, whose write had to end first, says nothing about this one.
    signs.isWritingCheckpoint =
        signs.isWritingCheckpoint && std::holds_alternative<rank::Checkpoint>(line.body);
    if (const auto* metrics = std::get_if<rank::Metrics>(&line.body); metrics && signs.isRank) {
        signs.hasWorked = true;
        noteStep(signs, metrics->step);
        signs.waitsSinceNs = 0;
        noteLoss(signs.worker, *metrics);
    }
    signs.hasSaidError = signs.hasSaidError || std::holds_alternative<rank::ErrorLine>(line.body);
    signs.hasSaidDone =
        signs.hasSaidDone || signs.hasSaidError || std::holds_alternative<rank::Done>(line.body);
}

// Only the first: a loss that is finite again later does not make the step right.
void RunHealth::noteLoss(const std::string& worker, const rank::Metrics& metrics) {
    const std::string sentence =
        troubles_.contains(kLossTrouble) ? std::string() : lossTrouble(metrics);
    if (!sentence.empty()) {
        setTrouble(kLossTrouble, strCat(worker, ": ", sentence));
    }
}

void RunHealth::noteDone(const std::string& worker) {
    if (WorkerSigns* signs = findOrAdd(worker, true)) {
        signs->hasSaidHello = signs->hasSaidDone = true;
    }
}

void RunHealth::noteHeard(const std::vector<std::string>& workers) {
    for (const std::string& worker : workers) {
        WorkerSigns* signs = findOrAdd(worker, true);
        if (signs != nullptr && !signs->hasSaidHello) {
            signs->hasSaidHello = signs->promisesAlive = true;
            signs->heardNs = signs->workedNs = clock_.steadyNs();
        }
    }
}

void RunHealth::setTrouble(const std::string& what, const std::string& sentence) {
    if (sentence.empty()) {
        troubles_.erase(what);
    } else {
        troubles_[what] = sentence;
    }
}

void RunHealth::forgive(std::int64_t nowNs, const std::set<std::string>& unreached) {
    const std::int64_t gap = lookedNs_ == 0 ? 0 : nowNs - lookedNs_;
    lookedNs_ = nowNs;
    for (WorkerSigns& signs : signs_) {
        if (gap >= kBlindNs || unreached.contains(signs.worker)) {
            shift(signs, gap, nowNs);
        }
    }
}

std::vector<std::string> RunHealth::look(const std::set<std::string>& unreached,
                                         const std::string& held) {
    const std::int64_t now = clock_.steadyNs();
    setTrouble("node", held);
    forgive(now, unreached);
    std::vector<std::string> news;
    lookAtWorkers(now, news);
    lookAtTroubles(news);
    return news;
}

void RunHealth::lookAtWorkers(std::int64_t nowNs, std::vector<std::string>& news) {
    std::map<std::string, Still> still;
    for (const Standstill& one : findStandstills(signs_, nowNs, limits_)) {
        const auto known = still_.find(one.worker);
        const bool isNew = known == still_.end();
        Still next{one, "", 0, processState_(pidOf(one.worker))};
        next.sentence = describe(one, signs_, next.process);
        next.sinceMs =
            isNew ? clock_.wallMs() - (nowNs - one.sinceNs) / kNsPerMs : known->second.sinceMs;
        // Only the letter of a stopped process adds to the silence itself; other letters change all
        // the time.
        if (isNew || known->second.what.standing != one.standing ||
            (known->second.process == 'T') != (next.process == 'T')) {
            news.push_back(strCat(next.sentence, ", for ", secondsText(nowNs - one.sinceNs)));
        }
        still.emplace(one.worker, std::move(next));
    }
    for (const auto& [worker, before] : still_) {
        if (!still.contains(worker)) {
            const std::int64_t stoodNs = (clock_.wallMs() - before.sinceMs) * kNsPerMs;
            news.push_back(
                strCat(worker, " goes on after ", secondsText(std::max<std::int64_t>(0, stoodNs))));
        }
    }
    still_ = std::move(still);
}

// Each attempt of a worker may have another message: only the start and end of a trouble are news.
void RunHealth::lookAtTroubles(std::vector<std::string>& news) {
    for (const auto& [what, sentence] : troubles_) {
        if (told_.emplace(what, sentence).second) {
            news.push_back(sentence);
        }
    }
    for (auto told = told_.begin(); told != told_.end();) {
        const bool isGone = !troubles_.contains(told->first);
        if (isGone) {
            news.push_back(strCat("no longer: ", told->second));
        }
        told = isGone ? told_.erase(told) : std::next(told);
    }
}

std::string RunHealth::trouble() const {
    std::string text;
    const auto add = [&](const std::string& sentence) {
        strAppend(&text, text.empty() ? "" : "; ", sentence);
    };
    for (const auto& [worker, still] : still_) {
        add(still.sentence);
    }
    for (const auto& [what, sentence] : troubles_) {
        add(sentence);
    }
    return text;
}

std::int64_t RunHealth::standsSinceMs() const {
    std::int64_t since = 0;
    for (const auto& [worker, still] : still_) {
        since = since == 0 ? still.sinceMs : std::min(since, still.sinceMs);
    }
    return since;
}

std::optional<std::pair<std::string, std::string>> RunHealth::silentRank(std::int64_t forNs) const {
    const std::int64_t now = clock_.steadyNs();
    for (const auto& [worker, still] : still_) {
        const bool isSilent = still.what.standing == Standing::kSilent &&
                              now - still.what.sinceNs >= forNs && job::rankOf(worker).has_value();
        if (isSilent) {
            return std::pair(worker, still.sentence);
        }
    }
    return std::nullopt;
}

std::optional<std::pair<std::string, std::int64_t>> RunHealth::waitingRank(
    std::int64_t forNs) const {
    constexpr std::int64_t kFreshNs = 3'000 * kNsPerMs;  // a waiting rank reports each second
    const std::int64_t now = clock_.steadyNs();
    for (const WorkerSigns& signs : signs_) {
        const bool waits = signs.waitsSinceNs != 0 && now - signs.waitsSinceNs >= forNs;
        if (waits && now - signs.workedNs < kFreshNs) {
            return std::pair(signs.worker, signs.step);
        }
    }
    return std::nullopt;
}

std::string_view RunHealth::standingOf(const std::string& worker) const {
    const auto found = still_.find(worker);
    if (found == still_.end()) {
        return "";
    }
    switch (found->second.what.standing) {
        case Standing::kUnheard:
        case Standing::kSilent:
            return found->second.process == 'T' ? "stopped" : "silent";
        case Standing::kHung:
            return "hung";
        case Standing::kStarved:
            return "waiting";
        case Standing::kMoves:
            break;
    }
    return "";
}

std::vector<values::WorkerInfo> RunHealth::workers(const engines::State& gang, int attempt) const {
    std::vector<values::WorkerInfo> workers;
    for (const engines::WorkerState& worker : gang.workers) {
        const std::string_view standing = standingOf(worker.name);
        const std::string_view word = worker.exitCode.has_value() ? "ended"
                                      : !standing.empty()         ? standing
                                      : worker.isSilent           ? "unguarded"
                                      : worker.isStarted          ? "running"
                                                                  : "starting";
        workers.push_back({worker.name, std::string(word), static_cast<int>(worker.pid),
                           worker.exitCode.value_or(0), attempt, worker.node});
    }
    return workers;
}

std::vector<values::RankNow> RunHealth::ranks(const engines::State& gang) const {
    std::map<int, values::RankNow> all;
    const std::vector<values::WorkerInfo> told = workers(gang, 0);
    for (std::size_t i = 0; i < told.size(); ++i) {
        const int rank = gang.workers[i].rank;
        if (rank < 0 || rank >= values::kRanksTold) {
            continue;
        }
        const auto said = ranks_.find(rank);
        values::RankNow& now = all[rank] = said == ranks_.end() ? values::RankNow() : said->second;
        now.rank = rank;
        now.state = told[i].state;
        if (const auto still = still_.find(told[i].name); still != still_.end()) {
            now.trouble = still->second.sentence;
            now.standsSinceMs = still->second.sinceMs;
        }
    }
    std::vector<values::RankNow> sorted;
    for (auto& [rank, now] : all) {
        sorted.push_back(std::move(now));
    }
    return sorted;
}

void RunHealth::tell(const engines::State& gang, int attempt, values::RunLive& live) const {
    live.trouble = trouble();
    live.standsSinceMs = standsSinceMs();
    live.workers = workers(gang, attempt);
    live.ranks = ranks(gang);
}

}  // namespace millrace::agent
