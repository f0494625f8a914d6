#include "backend/segment/sequence/segment_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/core/thread.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/sequence/local_frames.h"
#include "backend/system/numa.h"
#include "backend/text/text.h"

namespace millrace::segment {
namespace {

// Estimates before the first segment was computed: its columns and its coded frames as multiples of
// the plan's decoded bytes.
constexpr double kColumnsAtFirst = 2.0, kCodedAtFirst = 1.5;
// While it is computed a segment holds its columns and what the recipe makes of them.
constexpr double kComputingFactor = 1.5;
// Added to every estimate, so that many tiny segments are not estimated as 0 bytes.
constexpr std::int64_t kSmallSegment = 1 << 16;

std::int64_t scaled(std::int64_t bytes, double factor) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * factor) + kSmallSegment;
}

}  // namespace

SegmentServer::SegmentServer(std::shared_ptr<const StreamInput> input, SegmentServerOptions options,
                             BufferPool& pool, StageCounters& counters, Begun begun, Done done)
    : input_(std::move(input)),
      options_(std::move(options)),
      pool_(pool),
      counters_(counters),
      begun_(std::move(begun)),
      done_(std::move(done)),
      ahead_(*input_, pool),
      heldMax_(pool.limitBytes() > 0 ? std::min(options_.heldBytesMax, pool.limitBytes() / 2)
                                     : options_.heldBytesMax),
      codecs_(options_.codecs),
      columnsPerPlanned_(kColumnsAtFirst),
      codedPerPlanned_(kCodedAtFirst) {
    const auto nodes = std::make_shared<const std::vector<std::vector<int>>>(numaNodes());
    for (int t = 0; t < options_.threads; ++t) {
        threads_.push_back(startThread(strCat("data-", t), [this, nodes, t](std::stop_token) {
            pinToNode(*nodes, t);
            work();
        }));
    }
}

SegmentServer::~SegmentServer() {
    {
        MutexLock lock(mutex_);
        isStopped_ = true;
        changed_.notifyAll();
    }
    threads_.clear();
}

// Announces before a thread may start the order: a later announcement would never be released.
void SegmentServer::order(const stream::SegmentOrder& order) {
    {
        MutexLock lock(mutex_);
        if (entries_.contains(keyOf(order))) {
            return;
        }
    }
    ahead_.announce(order.name.epoch, order.name.segment);
    MutexLock lock(mutex_);
    entries_.try_emplace(keyOf(order), Entry{.order = order});
    changed_.notifyAll();
}

void SegmentServer::drop(const stream::SegmentOrder& order, bool isReadKept) {
    Entry dropped;  // frees its memory without the lock
    {
        MutexLock lock(mutex_);
        const auto at = entries_.find(keyOf(order));
        if (at == entries_.end() || (isReadKept && isRead(at->second))) {
            return;
        }
        if (at->second.phase == Phase::kComputing) {
            at->second.isWithdrawn = true;
            return;
        }
        heldBytes_ -= at->second.heldBytes;
        dropped = std::move(at->second);
        entries_.erase(at);
        changed_.notifyAll();
    }
    if (dropped.phase == Phase::kWaiting) {
        ahead_.release(order.name.epoch, order.name.segment);
    }
}

std::optional<CodedFrame> SegmentServer::frame(const stream::SegmentOrder& order,
                                               std::int64_t frame) {
    MutexLock lock(mutex_);
    const auto at = entries_.find(keyOf(order));
    if (at == entries_.end() || frame < 0 || frame >= std::ssize(at->second.frames)) {
        return std::nullopt;
    }
    at->second.isRead = true;
    return at->second.frames[static_cast<std::size_t>(frame)];
}

void SegmentServer::setCodecs(frame::CodecPlan codecs) {
    MutexLock lock(mutex_);
    codecs_ = std::move(codecs);
    ++codecsVersion_;
}

void SegmentServer::work() {
    SegmentRunner runner(input_, pool_, counters_, ahead_.readAhead(), 0);
    Coder coder;
    for (;;) {
        Work work = next();
        work.dropped.clear();
        for (SegmentDone& done : work.givenUp) {
            done_(std::move(done));
        }
        if (work.isEnd) {
            return;
        }
        if (!work.order) {
            continue;
        }
        if (begun_) {
            begun_(*work.order);
        }
        std::int64_t columnBytes = 0;
        auto coded = compute(*work.order, runner, coder, columnBytes);
        if (!coded.ok()) {
            ahead_.release(work.order->name.epoch, work.order->name.segment);
        }
        finish(*work.order, std::move(coded), columnBytes);
    }
}

SegmentServer::Work SegmentServer::next() {
    Work work;
    MutexLock lock(mutex_);
    while (!isStopped_ && !beginLocked(work) && work.givenUp.empty()) {
        const auto start = std::chrono::steady_clock::now();
        const bool isBlocked = std::ranges::any_of(
            entries_, [](const auto& entry) { return entry.second.phase == Phase::kWaiting; });
        changed_.wait(mutex_);
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now() - start);
        counters_.addWait(Stage::kRead, isBlocked ? Wait::kBlocked : Wait::kStarved, ns.count());
    }
    work.isEnd = isStopped_;
    return work;
}

// Starts the earliest waiting order, or none: a later order never overtakes it.
bool SegmentServer::beginLocked(Work& work) {
    const auto first = std::ranges::find_if(
        entries_, [](const auto& entry) { return entry.second.phase == Phase::kWaiting; });
    if (first == entries_.end()) {
        return false;
    }
    Entry& entry = first->second;
    const std::int64_t columns = scaled(entry.order.decodedBytes, columnsPerPlanned_);
    const std::int64_t held = scaled(entry.order.decodedBytes, codedPerPlanned_);
    const bool fits =
        numComputing_ == 0 ||
        (!entry.isAlone && (pool_.limitBytes() == 0 || columnBytes_ + columns <= columnsLimit()));
    if (!fits || !hasRoomLocked(first->first, held, work)) {
        return false;
    }
    entry.phase = Phase::kComputing;
    entry.columnBytes = columns;
    entry.heldBytes = held;
    columnBytes_ += columns;
    heldBytes_ += held;
    ++numComputing_;
    work.order = entry.order;
    return true;
}

// Whether held segments leave room. For an order that comes before them the last ones are given up:
// they are released only after it, so it would wait forever.
bool SegmentServer::hasRoomLocked(const Key& key, std::int64_t bytes, Work& work) {
    const auto isFull = [&]() MR_REQUIRES(mutex_) {
        return heldBytes_ > 0 && heldBytes_ + bytes > heldMax_;
    };
    for (auto last = entries_.end(); isFull() && last != entries_.begin();) {
        --last;
        if (last->first <= key) {
            break;
        }
        if (last->second.phase == Phase::kHeld && isRead(last->second)) {
            if (!std::exchange(last->second.isGivenUp, true)) {
                SegmentDone& done = work.givenUp.emplace_back();
                done.order = last->second.order;
                done.isGivenUp = true;
            }
        } else if (last->second.phase == Phase::kHeld) {
            heldBytes_ -= last->second.heldBytes;
            SegmentDone& done = work.givenUp.emplace_back();
            done.order = last->second.order;
            done.status = cancelled("it made room for a segment before it");
            done.isGivenUp = true;
            work.dropped.push_back(std::move(last->second));
            last = entries_.erase(last);
        }
    }
    return !isFull();
}

Result<CodedSegment> SegmentServer::compute(const stream::SegmentOrder& order,
                                            SegmentRunner& runner, Coder& coder,
                                            std::int64_t& columnBytes) {
    {
        MutexLock lock(mutex_);
        if (coder.version != codecsVersion_) {
            coder.coder.emplace(input_->shape(), pool_, counters_,
                                SegmentCoder::Options{codecs_, options_.arena, options_.look});
            coder.version = codecsVersion_;
        }
    }
    ASSIGN_OR_RETURN(SegmentOutput output, runner.run(order.name.epoch, order.name.segment));
    columnBytes = output.decodedBytes;
    ASSIGN_OR_RETURN(CodedSegment coded, coder.coder->code(LocalFrames(std::move(output)), order));
    // If a file changed during the read, it is unknown which version the rows come from.
    RETURN_IF_ERROR(input_->dataset()->verifyFiles(order.files));
    return coded;
}

void SegmentServer::finish(const stream::SegmentOrder& order, Result<CodedSegment> coded,
                           std::int64_t columnBytes) {
    SegmentDone done;
    done.order = order;
    {
        MutexLock lock(mutex_);
        const auto at = entries_.find(keyOf(order));
        Entry& entry = at->second;
        --numComputing_;
        columnBytes_ -= entry.columnBytes;
        heldBytes_ -= std::exchange(entry.heldBytes, 0);
        changed_.notifyAll();
        if (entry.isWithdrawn) {
            coded = cancelled("it was withdrawn");
        } else if (!settleLocked(entry, coded, columnBytes)) {
            return;
        }
        if (!coded.ok()) {
            entries_.erase(at);
        }
    }
    if (!coded.ok()) {
        done.status = coded.status().code() == absl::StatusCode::kResourceExhausted
                          ? tooLarge(order, coded.status())
                          : coded.status();
    } else {
        done.facts = std::move(coded->facts);
    }
    done_(std::move(done));
}

// Returns false if memory ran out while other segments held some; the order then waits to be
// computed alone.
bool SegmentServer::settleLocked(Entry& entry, Result<CodedSegment>& coded,
                                 std::int64_t columnBytes) {
    const double planned = static_cast<double>(std::max<std::int64_t>(entry.order.decodedBytes, 1));
    if (coded.ok()) {
        if (entry.order.decodedBytes > kSmallSegment) {
            columnsPerPlanned_ =
                std::max(kComputingFactor * static_cast<double>(columnBytes) / planned, 1.0);
            codedPerPlanned_ = static_cast<double>(coded->bytes) / planned;
        }
        entry.phase = Phase::kHeld;
        entry.heldBytes = coded->bytes;
        entry.frames = std::move(coded->frames);
        heldBytes_ += entry.heldBytes;
        return true;
    }
    const bool isMemory = coded.status().code() == absl::StatusCode::kResourceExhausted;
    if (isMemory && options_.arena != nullptr) {
        options_.arena->giveUnusedBack();
    }
    if (isMemory && !entry.isAlone) {
        entry.phase = Phase::kWaiting;
        entry.isAlone = true;
        columnsPerPlanned_ *= kComputingFactor;
        return false;
    }
    return true;
}

Status SegmentServer::tooLarge(const stream::SegmentOrder& order, const Status& why) const {
    return resourceExhausted(describeSegment(*input_, order.name.epoch, order.name.segment),
                             " of about ", formatBytes(static_cast<double>(order.decodedBytes)),
                             " decoded does not fit the memory limit of the data worker (",
                             formatBytes(static_cast<double>(pool_.limitBytes())),
                             "): ", messageOf(why));
}

}  // namespace millrace::segment
