#include "backend/stream/stream_master.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace millrace::stream {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStepMost = kSecond;
// Losses of one segment, by any workers, before the feed computes it.
constexpr std::size_t kLossesMost = 2;
constexpr std::size_t kDeathsMost = 2;
// Waits below this share of the time are normal variation of the queues.
constexpr double kStarvedShare = 0.05;
// Workers beyond what the last second's work needed: loads vary.
constexpr double kSpareShare = 0.25;
constexpr std::int64_t kIdleNs = 30 * kSecond;
// A worker's link limits it if its frames were awaited for this share of the time.
constexpr double kAwaitedShare = 0.5;
// Weight of the newest advice: a worker counts as limited after two of them.
constexpr double kNewest = 0.4;

}  // namespace

void StreamMaster::FilesRead::add(std::span<const std::uint32_t> files) {
    for (const std::uint32_t file : files) {
        files_[file % kPlaces] = file;
    }
}

std::size_t StreamMaster::FilesRead::count(std::span<const std::uint32_t> files) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(files, [&](auto file) { return files_[file % kPlaces] == file; }));
}

void StreamMaster::advance(std::int64_t nowNs) {
    if (lastNs_) {
        elapsedNs_ += std::clamp<std::int64_t>(nowNs - *lastNs_, 0, kStepMost);
    }
    lastNs_ = nowNs;
    if (hasStaying()) {
        presentNs_ = elapsedNs_;
    }
}

bool StreamMaster::hasStaying() const {
    return std::ranges::any_of(workers_,
                               [](const auto& worker) { return !worker.second.isLeaving; });
}

void StreamMaster::add(std::int64_t number, std::span<const std::uint32_t> files) {
    Segment segment;
    segment.generation = options_.firstGeneration;
    segment.files.assign(files.begin(), files.end());
    if (segments_.emplace(number, std::move(segment)).second) {
        waiting_.insert(number);
    }
}

std::int64_t StreamMaster::room() const {
    std::int64_t room = -static_cast<std::int64_t>(waiting_.size());
    for (const auto& [id, worker] : workers_) {
        if (!worker.isLeaving) {
            room += std::max<std::int64_t>(0, worker.places - std::ssize(worker.numbers));
        }
    }
    return std::max<std::int64_t>(0, room);
}

void StreamMaster::delivered(std::int64_t number) {
    const auto place = segments_.find(number);
    if (place == segments_.end()) {
        return;
    }
    const Segment& segment = place->second;
    withdraw(segment, number, 0);
    if (segment.keeper) {
        letGo(segment.keeper->worker, number);
    }
    waiting_.erase(number);
    segments_.erase(place);
}

WorkerId StreamMaster::join(std::string name, int places, int threads, std::int64_t nowNs) {
    advance(nowNs);
    Worker worker;
    worker.name = std::move(name);
    worker.places = std::max(1, places);
    worker.threads = std::max(1, threads);
    worker.heardNs = elapsedNs_;
    workers_.emplace(nextWorker_, std::move(worker));
    return nextWorker_++;
}

void StreamMaster::report(WorkerId worker, int places, std::int64_t nowNs) {
    advance(nowNs);
    const auto place = workers_.find(worker);
    if (place != workers_.end()) {
        place->second.heardNs = elapsedNs_;
        place->second.places = std::max(1, places);
    }
}

const StreamMaster::Holder* StreamMaster::holderOf(const Hand& hand) const {
    const auto place = segments_.find(hand.number);
    if (place == segments_.end()) {
        return nullptr;
    }
    for (const Holder& holder : place->second.holders) {
        if (holder.worker == hand.worker && holder.generation == hand.generation) {
            return &holder;
        }
    }
    return nullptr;
}

StreamMaster::Holder* StreamMaster::holderOf(const Hand& hand) {
    return const_cast<Holder*>(std::as_const(*this).holderOf(hand));
}

bool StreamMaster::holds(const Hand& hand) const {
    const auto place = segments_.find(hand.number);
    if (place == segments_.end() || !place->second.keeper) {
        return false;
    }
    return place->second.keeper->worker == hand.worker &&
           place->second.keeper->generation == hand.generation;
}

bool StreamMaster::started(const Hand& hand) {
    Holder* holder = holderOf(hand);
    if (holder == nullptr) {
        return false;
    }
    holder->startedNs = elapsedNs_;
    return true;
}

bool StreamMaster::done(const Hand& hand, std::int64_t nowNs) {
    advance(nowNs);
    const Holder* found = holderOf(hand);
    if (found == nullptr) {
        return false;
    }
    const Holder holder = *found;
    Segment& segment = segments_.at(hand.number);
    Worker& worker = workers_.at(hand.worker);
    worker.unables = 0;
    times_[numTimes_++ % kTimes] = elapsedNs_ - holder.orderedNs;
    if (holder.startedNs >= 0) {
        busyNs_ += static_cast<double>(elapsedNs_ - holder.startedNs) / worker.threads;
    }
    withdraw(segment, hand.number, hand.worker);
    segment.holders.clear();
    segment.keeper = holder;
    return true;
}

// Withdraws it from all workers that compute it, except one.
void StreamMaster::withdraw(const Segment& segment, std::int64_t number, WorkerId exceptFor) {
    for (const Holder& holder : segment.holders) {
        if (holder.worker != exceptFor) {
            decisions_.withdrawn.push_back({holder.worker, number, holder.generation});
            letGo(holder.worker, number);
        }
    }
}

void StreamMaster::letGo(WorkerId id, std::int64_t number) {
    const auto worker = workers_.find(id);
    if (worker != workers_.end()) {
        worker->second.numbers.erase(number);
    }
}

void StreamMaster::giveAgain(std::int64_t number, const Segment& segment) {
    if (segment.holders.empty() && !segment.keeper && !segment.isHere) {
        waiting_.insert(number);
    }
}

bool StreamMaster::unable(const Hand& hand) {
    const Holder* holder = holderOf(hand);
    if (holder == nullptr) {
        return false;
    }
    Segment& segment = segments_.at(hand.number);
    segment.losers.insert(hand.worker);
    segment.holders.erase(segment.holders.begin() + (holder - segment.holders.data()));
    letGo(hand.worker, hand.number);
    giveAgain(hand.number, segment);
    if (++workers_.at(hand.worker).unables >= options_.unablesMost) {
        decisions_.unfit.push_back(hand.worker);
        drop(hand.worker, false);
    }
    return true;
}

bool StreamMaster::gaveBack(const Hand& hand) {
    const bool isKept = holds(hand);
    const Holder* holder = holderOf(hand);
    if (!isKept && holder == nullptr) {
        return false;
    }
    Segment& segment = segments_.at(hand.number);
    if (isKept) {
        segment.keeper.reset();
    } else {
        segment.holders.erase(segment.holders.begin() + (holder - segment.holders.data()));
    }
    letGo(hand.worker, hand.number);
    giveAgain(hand.number, segment);
    return true;
}

// Segments that it has not started go to others; those that it has started it finishes.
void StreamMaster::leave(WorkerId worker) {
    const auto place = workers_.find(worker);
    if (place == workers_.end()) {
        return;
    }
    place->second.isLeaving = true;
    for (const std::int64_t number : std::set<std::int64_t>(place->second.numbers)) {
        Segment& segment = segments_.at(number);
        const auto idle = std::ranges::find_if(segment.holders, [worker](const Holder& holder) {
            return holder.worker == worker && holder.startedNs < 0;
        });
        if (idle != segment.holders.end()) {
            decisions_.withdrawn.push_back({worker, number, idle->generation});
            segment.holders.erase(idle);
            letGo(worker, number);
            giveAgain(number, segment);
        }
    }
}

void StreamMaster::drop(WorkerId id, bool isDeath) {
    const auto place = workers_.find(id);
    if (place == workers_.end()) {
        return;
    }
    const Worker worker = std::move(place->second);
    workers_.erase(place);
    for (const std::int64_t number : worker.numbers) {
        Segment& segment = segments_.at(number);
        if (segment.keeper && segment.keeper->worker == id) {
            segment.keeper.reset();
        }
        std::erase_if(segment.holders, [&](const Holder& holder) {
            if (holder.worker == id && holder.startedNs >= 0) {
                blame(segment, holder, isDeath ? &worker.name : nullptr);
            }
            return holder.worker == id;
        });
        giveAgain(number, segment);
    }
}

// One outside cause may have killed two workers that had the segment at once. The second death
// therefore counts fully only if the segment was given again after the first.
void StreamMaster::blame(Segment& segment, const Holder& holder, const std::string* deadName) {
    if (deadName == nullptr) {
        segment.losers.insert(holder.worker);
    } else if (segment.dead.empty() || holder.generation >= segment.deathGeneration) {
        segment.dead.push_back(*deadName);
        segment.deathGeneration = segment.generation;
    } else {
        segment.deadToo.push_back(*deadName);
    }
}

// A segment that killed a worker goes to any worker that is left: the feed computes it last of all.
bool StreamMaster::isAble(const Segment& segment, WorkerId id, const Worker& worker) const {
    const bool hasIt = std::ranges::any_of(
        segment.holders, [id](const Holder& holder) { return holder.worker == id; });
    return !worker.isLeaving && !hasIt && (!segment.dead.empty() || !segment.losers.contains(id));
}

bool StreamMaster::isDeadly(const Segment& segment) const {
    return segment.dead.size() >= kDeathsMost ||
           (segment.dead.size() + segment.deadToo.size() >= kDeathsMost &&
            isAloneFor(options_.aloneAfterDeathNs));
}

bool StreamMaster::mustBeHere(const Segment& segment) const {
    if (!segment.dead.empty()) {
        return segment.deadToo.empty() && isAloneFor(options_.aloneAfterDeathNs);
    }
    if (isAlone()) {
        return true;
    }
    if (segment.losers.empty()) {
        return false;
    }
    return segment.losers.size() >= kLossesMost ||
           std::ranges::none_of(workers_, [&](const auto& worker) {
               return isAble(segment, worker.first, worker.second);
           });
}

bool StreamMaster::give(std::int64_t number, Segment& segment, bool isForemost) {
    Worker* best = nullptr;
    WorkerId bestId = 0;
    std::tuple<bool, bool, std::size_t, double> bestRank;
    for (auto& [id, worker] : workers_) {
        const auto taken = static_cast<std::int64_t>(worker.numbers.size());
        const bool hasPlace = taken < worker.places;
        if (!isAble(segment, id, worker) ||
            (!hasPlace && !(isForemost && taken == worker.places))) {
            continue;
        }
        // Without this, one worker would get all segments of a file, and others would hold later
        // ones.
        const bool isIdle = taken < worker.threads;
        const double load = static_cast<double>(taken) / worker.places;
        const std::tuple rank(hasPlace, isIdle, worker.files.count(segment.files), -load);
        if (best == nullptr || rank > bestRank) {
            best = &worker;
            bestId = id;
            bestRank = rank;
        }
    }
    if (best == nullptr) {
        return false;
    }
    best->numbers.insert(number);
    best->files.add(segment.files);
    segment.holders.push_back({bestId, segment.generation, elapsedNs_, -1});
    decisions_.orders.push_back({bestId, number, segment.generation++});
    ++numGiven_;
    return true;
}

void StreamMaster::loseSilent() {
    for (const auto& [id, worker] : workers_) {
        if (elapsedNs_ - worker.heardNs > options_.silenceNs) {
            decisions_.silent.push_back(id);
        }
    }
    for (const WorkerId id : decisions_.silent) {
        drop(id, false);
    }
}

// The earliest segment that is neither answered nor the feed's.
StreamMaster::Segments::iterator StreamMaster::foremost() {
    return std::ranges::find_if(
        segments_, [](const auto& entry) { return !entry.second.keeper && !entry.second.isHere; });
}

std::int64_t StreamMaster::lateNs() const {
    if (numTimes_ == 0) {
        return options_.firstLateNs;
    }
    std::vector<std::int64_t> times(
        times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(std::min(numTimes_, kTimes)));
    const auto middle = times.begin() + std::ssize(times) / 2;
    std::nth_element(times.begin(), middle, times.end());
    return std::max(options_.leastLateNs,
                    static_cast<std::int64_t>(options_.lateMedians * static_cast<double>(*middle)));
}

void StreamMaster::giveLate() {
    const auto first = foremost();
    if (first == segments_.end() || first->second.holders.size() != 1 ||
        !first->second.dead.empty()) {
        return;
    }
    const std::int64_t since = elapsedNs_ - first->second.holders.front().orderedNs;
    const double most = std::max(1.0, options_.mostTwice * static_cast<double>(numGiven_));
    if (since > options_.leastLateNs && static_cast<double>(numTwice_ + 1) <= most &&
        since > lateNs() && give(first->first, first->second, true)) {
        ++numTwice_;
    }
}

void StreamMaster::giveWaiting() {
    const auto first = foremost();
    std::vector<std::int64_t> placed;
    for (const std::int64_t number : waiting_) {
        Segment& segment = segments_.at(number);
        if (isDeadly(segment)) {
            segment.isHere = true;
            segment.dead.insert(segment.dead.end(), segment.deadToo.begin(), segment.deadToo.end());
            decisions_.deadly.push_back({number, segment.dead});
        } else if (mustBeHere(segment)) {
            segment.isHere = true;
            decisions_.here.push_back(number);
        } else if (!give(number, segment, number == first->first)) {
            continue;
        }
        placed.push_back(number);
    }
    for (const std::int64_t number : placed) {
        waiting_.erase(number);
    }
}

void StreamMaster::sayFarewell() {
    std::erase_if(workers_, [this](const auto& entry) {
        const bool isGone = entry.second.isLeaving && entry.second.numbers.empty();
        if (isGone) {
            decisions_.farewell.push_back(entry.first);
        }
        return isGone;
    });
}

StreamMaster::Decisions StreamMaster::decide(std::int64_t nowNs) {
    advance(nowNs);
    loseSilent();
    giveLate();
    giveWaiting();
    sayFarewell();
    return std::exchange(decisions_, {});
}

// All of its places hold computed segments: it can compute nothing before frames were fetched.
bool StreamMaster::isFull(WorkerId id, const Worker& worker) const {
    return std::ssize(worker.numbers) >= worker.places &&
           std::ranges::all_of(worker.numbers, [&](std::int64_t number) {
               const auto& keeper = segments_.at(number).keeper;
               return keeper && keeper->worker == id;
           });
}

// Workers that are new count as not limited.
bool StreamMaster::areLinksTheLimit(const RankDemand& demand) {
    std::size_t numBound = 0;
    for (auto& [id, worker] : workers_) {
        const auto awaited = demand.awaited.find(id);
        const bool isBound = awaited != demand.awaited.end() && awaited->second >= kAwaitedShare &&
                             isFull(id, worker);
        worker.linkBound += kNewest * ((isBound ? 1 : 0) - worker.linkBound);
        numBound += worker.linkBound > 0.5 ? 1 : 0;
    }
    return numBound * 2 > workers_.size();
}

int StreamMaster::adviseWorkers(const RankDemand& demand, std::int64_t nowNs) {
    advance(nowNs);
    const int present = static_cast<int>(numWorkers());
    const auto passed = static_cast<double>(elapsedNs_ - advisedNs_);
    const double busy = passed > 0 ? std::exchange(busyNs_, 0) / passed : 0;
    advisedNs_ = elapsedNs_;
    advice_ = std::clamp(advice_, options_.workersLeast, options_.workersMost);
    const bool isBound = areLinksTheLimit(demand);
    if (demand.starved > kStarvedShare && isBound) {
        idleSinceNs_ = -1;
    } else if (demand.starved > kStarvedShare) {
        const int more = std::max(1, static_cast<int>(std::ceil(present * demand.starved)));
        // Workers advised before may still be starting.
        advice_ = std::max(advice_, present + (advice_ > present ? 0 : more));
        idleSinceNs_ = -1;
    } else {
        const int needed = static_cast<int>(std::ceil(busy * (1 + kSpareShare)));
        if (needed >= advice_) {
            idleSinceNs_ = -1;
        } else if (idleSinceNs_ < 0) {
            idleSinceNs_ = elapsedNs_;
        } else if (elapsedNs_ - idleSinceNs_ >= kIdleNs) {
            advice_ = std::max(needed, advice_ - 1);
            idleSinceNs_ = elapsedNs_;
        }
    }
    advice_ = std::clamp(advice_, options_.workersLeast, options_.workersMost);
    return advice_;
}

}  // namespace millrace::stream
