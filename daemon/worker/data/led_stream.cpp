#include "daemon/worker/data/led_stream.h"

#include <algorithm>
#include <optional>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "daemon/worker/data/messages.h"

namespace millrace::data {
namespace {

constexpr std::int64_t kAdviceNs = 1'000'000'000;

std::int64_t steadyNs() {
    return SystemClock().steadyNs();
}

v1::OrderName nameOf(const stream::SegmentOrder& order, std::uint32_t generation) {
    v1::OrderName name;
    toMessage(order, name);
    name.set_generation(generation);
    return name;
}

// Errors that any process meets that computes the segment: the file is damaged, a row breaks the
// spec.
bool isOfTheData(const Status& status) {
    return status.code() == absl::StatusCode::kDataLoss ||
           status.code() == absl::StatusCode::kInvalidArgument ||
           status.code() == absl::StatusCode::kOutOfRange;
}

}  // namespace

/// The frames of one answer, held by their worker.
class LedStream::Holder final : public segment::FrameHolder {
 public:
    Holder(LinkPtr link, stream::SegmentOrder known, OnReleased onReleased,
           std::shared_ptr<const segment::StreamInput> input)
        : link_(std::move(link)),
          known_(std::move(known)),
          onReleased_(std::move(onReleased)),
          input_(std::move(input)) {}

    void take(const stream::SegmentOrder&, const segment::FrameSpan& span,
              const std::shared_ptr<segment::RemoteFrames>& to) override {
        link_->ask(known_, span, to);
    }
    Place place() const override { return {link_->number, known_.generation}; }
    // No reader is left for its frames: the worker may reuse their memory.
    void release(const stream::SegmentOrder& order) override {
        link_->forget(known_);
        v1::OrderName name;
        toMessage(known_, name);
        withdraw(link_, name);
        onReleased_(order);
    }

 private:
    const LinkPtr link_;
    const stream::SegmentOrder known_;  ///< as the worker knows it
    const OnReleased onReleased_;
    const std::shared_ptr<const segment::StreamInput> input_;  ///< has the shape of the frames
};

LedStream::LedStream(segment::RemoteSegmentQueue& queue,
                     std::shared_ptr<const segment::StreamInput> input,
                     const stream::StreamMaster::Options& options, ring::FrameLedger& ledger,
                     OnReleased onReleased)
    : queue_(queue),
      input_(std::move(input)),
      ledger_(ledger),
      onReleased_(std::move(onReleased)),
      master_(options),
      nextGeneration_(options.firstGeneration),
      lastTurnNs_(steadyNs()) {}

stream::WorkerId LedStream::join(const LinkPtr& link, int places, int threads) {
    const stream::WorkerId id = master_.join(link->name, places, threads, steadyNs());
    links_.emplace(id, link);
    return id;
}

void LedStream::report(stream::WorkerId id, int places) {
    master_.report(id, places, steadyNs());
}

void LedStream::leave(stream::WorkerId id) {
    master_.leave(id);
}

void LedStream::lose(stream::WorkerId id, stream::StreamMaster::Loss loss) {
    links_.erase(id);
    master_.lose(id, loss);
    loseArrived(id);
}

// The frames that it held are lost. Claims the segments again before a local thread starts them.
void LedStream::loseArrived(stream::WorkerId id) {
    const stream::SegmentName foremost = queue_.state().foremost;
    std::vector<std::int64_t> passed;
    for (auto& [number, segment] : segments_) {
        if (!segment.isArrived || segment.keeper.worker != id) {
            continue;
        }
        if (segment.order.name >= foremost) {
            claimAgain(segment);
        } else if (!computeAgain(segment)) {
            passed.push_back(number);
        }
    }
    for (const std::int64_t number : passed) {
        forget(number);
    }
}

LedStream::LinkPtr LedStream::linkOf(stream::WorkerId id) const {
    const auto link = links_.find(id);
    return link == links_.end() ? nullptr : link->second;
}

void LedStream::begun(stream::WorkerId id, const v1::OrderName& name) {
    const stream::SegmentOrder order = orderOf(name);
    const auto number = numbers_.find(order.name);
    if (number != numbers_.end()) {
        master_.started({id, number->second, order.generation});
    }
}

Status LedStream::answered(stream::WorkerId id, const v1::SegmentDone& done) {
    const LinkPtr link = linkOf(id);
    if (link == nullptr) {
        return okStatus();  // it is gone already
    }
    const stream::SegmentOrder answered = orderOf(done.name());
    const auto number = numbers_.find(answered.name);
    const Hand hand{id, number == numbers_.end() ? -1 : number->second, answered.generation};
    const bool isKept = master_.holds(hand);
    if (!isKept && !master_.isComputing(hand)) {
        withdraw(link, done.name());  // for an order that another worker got meanwhile
    } else if (done.is_given_up()) {
        master_.gaveBack(hand);
        if (isKept) {
            Segment& segment = segments_.at(hand.number);
            ledger_.drop(link->number, segment.order.name);
            if (segment.order.name < queue_.state().foremost && !computeAgain(segment)) {
                forget(hand.number);
            } else {
                claimAgain(segment);
            }
        }
    } else if (done.code() != 0) {
        failed(link, hand, statusOf(done));
    } else if (!isKept) {
        return arrived(link, hand, done);
    }
    return okStatus();
}

Status LedStream::arrived(const LinkPtr& link, const Hand& hand, const v1::SegmentDone& done) {
    Segment& segment = segments_.at(hand.number);
    if (!segment.isOurs) {
        claimAgain(segment);
    }
    const auto holder = std::make_shared<Holder>(link, orderOf(done.name()), onReleased_, input_);
    ASSIGN_OR_RETURN(segment::SegmentReport facts, factsOf(done.facts()));
    ASSIGN_OR_RETURN(const auto frames, segment::RemoteFrames::make(input_->shape(), segment.order,
                                                                    std::move(facts), holder));
    master_.done(hand, steadyNs());
    segment.keeper = hand;
    segment.frameBytes = frames->facts().frameBytes();
    if (!segment.isAgain) {
        const segment::RowCounts& counts = frames->facts().counts;
        rows_.first += counts.rowsScanned - counts.rowsPruned;
        rows_.second += counts.rowsKept;
        segment.isArrived = segment.isOurs && queue_.arrived(frames);
    }
    segment.isArrived = offer(frames) || segment.isArrived;
    if (!segment.isArrived) {
        forget(hand.number);
    }
    return okStatus();
}

// Returns true if relays now fetch frames of it that another worker owed.
bool LedStream::offer(const std::shared_ptr<segment::RemoteFrames>& frames) {
    const stream::SegmentName& name = frames->order().name;
    const bool isAwaited = ledger_.replace(
        name,
        [&frames](std::int64_t frame) {
            return frame < std::ssize(frames->facts().frames) ? frames->part(frame) : std::nullopt;
        },
        frames);
    if (isAwaited) {
        logInfo("data: another worker has the frames that a lost one owed",
                {{"epoch", name.epoch}, {"segment", name.segment}});
    }
    return isAwaited;
}

// Segments whose frames relays lack, and which no worker will compute again.
void LedStream::giveUpOrphans() {
    for (const stream::SegmentName& name : ledger_.orphans()) {
        const auto number = numbers_.find(name);
        if (number == numbers_.end() || segments_.at(number->second).isArrived) {
            ledger_.giveUp(name);
        }
    }
}

// Relays get no frames of it, and those that wait for some would keep it from being delivered.
void LedStream::computeHere(std::int64_t number) {
    const Segment& segment = segments_.at(number);
    ledger_.giveUp(segment.order.name);
    if (segment.isAgain) {
        forget(number);
    } else {
        queue_.claimHere(segment.order.name);
    }
}

void LedStream::failed(const LinkPtr& link, const Hand& hand, const Status& why) {
    logWarn("data: a segment cannot be computed",
            {{"worker", link->name}, {"why", messageOf(why)}});
    if (isOfTheData(why)) {
        queue_.failed(segments_.at(hand.number).order, why);
        forget(hand.number);
    } else {
        master_.unable(hand);
    }
}

// The segment was delivered, from this answer or another.
void LedStream::released(const stream::SegmentOrder& order) {
    const auto number = numbers_.find(order.name);
    if (number == numbers_.end()) {
        return;
    }
    const Segment& segment = segments_.at(number->second);
    if (!segment.isArrived || !segment.order.isSame(order)) {
        return;
    }
    ++numDelivered_;
    frameBytes_ += segment.frameBytes;
    forget(number->second);
}

void LedStream::withdraw(const LinkPtr& link, const v1::OrderName& name) {
    v1::WorkerOrders message;
    *message.add_withdrawn() = name;
    link->send(message);
}

// Call for a segment that the queue is through with. False: no relay waits for its frames.
bool LedStream::computeAgain(Segment& segment) {
    if (!ledger_.orphans().contains(segment.order.name)) {
        return false;
    }
    segment.isArrived = false;
    segment.isOurs = segment.isAgain = true;
    ++segment.order.generation;  // what is released of the lost answer is not this one's
    return true;
}

void LedStream::claimAgain(Segment& segment) {
    if (segment.isAgain) {
        segment.isArrived = false;  // the queue is through with it
        return;
    }
    if (segment.isOurs && segment.isArrived) {
        segment.isOurs = segment.isArrived = false;
        queue_.lost(segment.order);
    }
    while (!segment.isOurs && claim()) {
    }
}

bool LedStream::claim() {
    const std::optional<stream::SegmentOrder> order = queue_.claim();
    if (!order) {
        return false;
    }
    const auto [place, isNew] = numbers_.emplace(order->name, nextNumber_);
    Segment& segment = segments_[place->second];
    segment.order = *order;
    segment.isOurs = true;
    if (isNew) {
        master_.add(nextNumber_++, order->files);
    }
    return true;
}

void LedStream::forget(std::int64_t number) {
    const auto segment = segments_.find(number);
    if (segment != segments_.end()) {
        master_.delivered(number);
        numbers_.erase(segment->second.order.name);
        segments_.erase(segment);
    }
}

// Segments that were computed here leave no other trace. One that arrived is kept, with its place
// at the worker, until its frames are released: relays may still fetch them.
void LedStream::forgetPassed() {
    const stream::SegmentName foremost = queue_.state().foremost;
    std::vector<std::int64_t> passed;
    for (auto at = numbers_.begin(); at != numbers_.end() && at->first < foremost; ++at) {
        Segment& segment = segments_.at(at->second);
        if (!segment.isArrived && !segment.isAgain && !computeAgain(segment)) {
            passed.push_back(at->second);
        }
    }
    for (const std::int64_t number : passed) {
        forget(number);
    }
}

std::vector<LedStream::Refusal> LedStream::turn(const TrafficTable& traffic) {
    const std::int64_t now = steadyNs();
    forgetPassed();
    while (master_.room() > 0 && claim()) {
    }
    std::vector<Refusal> refusals = act(master_.decide(now));
    const bool computesHere = master_.computesHere();
    if (computesHere != computesHere_) {
        computesHere_ = computesHere;
        queue_.setComputesHere(computesHere);
    }
    watchAppetite(traffic, now);
    return refusals;
}

std::vector<LedStream::Refusal> LedStream::act(const stream::StreamMaster::Decisions& decisions) {
    std::vector<Refusal> refusals;
    for (const stream::WorkerId id : decisions.silent) {
        refusals.push_back({id, deadlineExceeded("work: no report came for too long; its segments "
                                                 "are given to others")});
    }
    for (const stream::WorkerId id : decisions.unfit) {
        refusals.push_back({id, failedPrecondition("work: unable to compute too many segments in "
                                                   "turn; the reasons are in its own log")});
    }
    for (const Refusal& refusal : refusals) {
        if (const LinkPtr link = linkOf(refusal.worker)) {
            ledger_.lose(link->number);
        }
        links_.erase(refusal.worker);
        loseArrived(refusal.worker);
    }
    tell(decisions);
    for (const std::int64_t number : decisions.here) {
        computeHere(number);
    }
    for (const stream::StreamMaster::PoisonSegment& deadly : decisions.deadly) {
        endAt(deadly);
    }
    giveUpOrphans();
    return refusals;
}

void LedStream::tell(const stream::StreamMaster::Decisions& decisions) {
    Messages out;
    for (const Hand& hand : decisions.withdrawn) {
        const auto segment = segments_.find(hand.number);
        const LinkPtr link = linkOf(hand.worker);
        if (link != nullptr && segment != segments_.end()) {
            *out[link].add_withdrawn() = nameOf(segment->second.order, hand.generation);
        }
    }
    for (const Hand& hand : decisions.orders) {
        order(hand, out);
    }
    for (const stream::WorkerId id : decisions.farewell) {
        if (const LinkPtr link = linkOf(id)) {
            out[link].set_is_end(true);
        }
    }
    for (const auto& [link, orders] : out) {
        link->send(orders);
    }
}

// If a thread of the feed has started the segment meanwhile, the feed keeps it.
void LedStream::order(const Hand& hand, Messages& out) {
    const auto segment = segments_.find(hand.number);
    const LinkPtr link = linkOf(hand.worker);
    if (segment == segments_.end() || link == nullptr) {
        return;
    }
    if (!segment->second.isOurs) {
        claimAgain(segment->second);
    }
    if (!segment->second.isOurs) {
        forget(hand.number);
        return;
    }
    v1::SegmentOrder& message = *out[link].add_orders();
    toMessage(segment->second.order, message);
    message.mutable_name()->set_generation(hand.generation);
    nextGeneration_ = std::max(nextGeneration_, hand.generation + 1);
}

void LedStream::endAt(const stream::StreamMaster::PoisonSegment& deadly) {
    const stream::SegmentOrder& order = segments_.at(deadly.number).order;
    ledger_.giveUp(order.name);
    std::string workers;
    for (const std::string& worker : deadly.workers) {
        workers += (workers.empty() ? "" : ", ") + worker;
    }
    queue_.failed(
        order, dataLoss(queue_.describe(order.name), ": data workers died computing it (", workers,
                        "); it is not tried in the feed, which would die "
                        "as well. Look at their logs and these files"));
    if (segments_.at(deadly.number).isAgain) {
        forget(deadly.number);
    }
}

void LedStream::watchAppetite(const TrafficTable& traffic, std::int64_t nowNs) {
    if (queue_.state().isForemostOut) {
        starvedNs_ += static_cast<double>(nowNs - lastTurnNs_);
    }
    lastTurnNs_ = nowNs;
    if (nowNs - adviceNs_ >= kAdviceNs) {
        stream::StreamMaster::RankDemand demand;
        demand.starved = starvedNs_ / static_cast<double>(nowNs - adviceNs_);
        for (const auto& [id, link] : links_) {
            demand.awaited[id] = traffic.awaitedShare(link->sender);
        }
        workersWanted_ = master_.adviseWorkers(demand, nowNs);
        starvedNs_ = 0;
        adviceNs_ = nowNs;
    }
}

}  // namespace millrace::data
