#include "backend/train/feed_source.h"

#include "backend/core/clock.h"
#include "backend/core/exit_codes.h"
#include "backend/core/log.h"

namespace millrace::train {
namespace {

constexpr std::int64_t kWaitMs = 200;
constexpr std::int64_t kReopenMs = 1'000;

/// Keeps the kind of the feed's error: a full disk is not bad input.
Status failureOf(std::uint64_t exitCode, const char* why) {
    switch (exitCode) {
        case kExitInput:
            return invalidArgument(why);
        case kExitResources:
            return resourceExhausted(why);
        default:
            return internalError(why);
    }
}

Status errorOf(int result, std::uint64_t exitCode, const std::string& stream, const char* why) {
    const std::string text = strCat(stream, " feed: ", why);
    switch (result) {
        case MILLRACE_FEED_FAILED:
            return failureOf(exitCode, why);
        case MILLRACE_FEED_ABORTED:
            return cancelled(text);
        case MILLRACE_FEED_CORRUPT:
            return dataLoss(text);
        case MILLRACE_FEED_LOST:
            return unavailable(text);
        default:
            return failedPrecondition(text);
    }
}

bool find(const millrace_batch* batch, std::uint32_t role, const char* name, millrace_column& out) {
    out.struct_size = sizeof out;
    return millrace_batch_find(batch, role, name, &out) == 0;
}

/// Checks for a fixed column of one float per row, or one value of `dtype`.
Status checkFixed(const millrace_column& column, std::uint32_t dtype, std::uint64_t rows,
                  const std::string& name) {
    if (column.dtype != dtype || column.offsets || column.inverse ||
        column.num_values != rows * column.width) {
        return dataLoss("frame: column ", name, " is not of the type or size that training needs");
    }
    return okStatus();
}

Status checkItems(const millrace_column& column, std::uint64_t rows, const std::string& name) {
    const auto bad = [&] {
        return dataLoss("frame: column ", name, " has offsets beyond its values");
    };
    if (column.dtype != MILLRACE_DTYPE_INT64 || column.width != 1) {
        return dataLoss("frame: column ", name, " does not hold int64 ids");
    }
    if (!column.inverse && column.items != rows) {
        return bad();
    }
    for (std::uint64_t r = 0; column.inverse && r < rows; ++r) {
        if (column.inverse[r] >= column.items) {
            return bad();
        }
    }
    if (!column.offsets) {
        return column.num_values == column.items ? okStatus() : bad();
    }
    std::int64_t last = 0;
    for (std::uint64_t i = 0; i <= column.items; ++i) {
        if (column.offsets[i] < last) {
            return bad();
        }
        last = column.offsets[i];
    }
    return static_cast<std::uint64_t>(last) <= column.num_values ? okStatus() : bad();
}

}  // namespace

Result<std::unique_ptr<BatchSource>> FeedSource::open(const FeedSourceOptions& options) {
    millrace_feed_options o{};
    o.struct_size = sizeof o;
    o.rank = options.rank;
    o.world_size = options.worldSize;
    o.abort_fd = options.abortFd;
    o.attempt = options.attempt;
    o.stream = options.stream.c_str();
    o.state = options.state.empty() ? nullptr : options.state.c_str();
    o.connect_timeout_ms = static_cast<std::int32_t>(options.connectTimeout.count());
    o.numa_node = -1;
    o.join = options.isJoined ? 1 : 0;
    millrace_feed* feed = nullptr;
    char error[1024] = {};
    const int result =
        millrace_feed_open(options.socketPath.c_str(), &o, &feed, error, sizeof error);
    if (!feed) {
        return errorOf(result, kExitResources, options.stream, error);
    }
    std::unique_ptr<FeedSource> source(new FeedSource(options, feed));
    if (options.onRing) {
        millrace_feed_on_ring(feed, &FeedSource::ringTold, source.get());
    }
    return source;
}

void FeedSource::ringTold(void* source, void* memory, std::uint64_t bytes, std::int32_t isMapped) {
    auto& self = *static_cast<FeedSource*>(source);
    self.ringStatus_.Update(self.options_.onRing(memory, bytes, isMapped != 0));
}

FeedSource::~FeedSource() {
    release();
    if (options_.onRing) {
        millrace_feed_on_ring(feed_, nullptr, nullptr);
    }
    if (options_.stream == "train" && !options_.isGlance) {
        takeRest();
    }
    millrace_feed_close(feed_);
}

// A feed waits for a rank that leaves before it took the stream's end: the rank may return. If
// everything is delivered, as after the last step, the end is available at once. A rank that leaves
// early does not wait for the rest of a long stream.
void FeedSource::takeRest() {
    constexpr std::int64_t kRestMs = 100;
    const std::int64_t end = SystemClock().steadyNs() + kRestMs * 1'000'000;
    for (int result = MILLRACE_FEED_STEP;
         result >= 0 && result != MILLRACE_FEED_END_OF_STREAM && result != MILLRACE_FEED_ABORTED;) {
        const std::int64_t leftMs = (end - SystemClock().steadyNs()) / 1'000'000;
        if (leftMs <= 0) {
            return;
        }
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        result = millrace_feed_next(feed_, leftMs, &event);
        if (result == MILLRACE_FEED_BATCH) {
            millrace_batch_release(event.batch);
        }
    }
}

void FeedSource::release() {
    if (held_) {
        millrace_batch_release(held_);
        held_ = nullptr;
    }
}

Result<FeedEvent> FeedSource::next() {
    release();
    if (lostSinceNs_ != 0) {
        return reconnect();
    }
    millrace_feed_event event{};
    event.struct_size = sizeof event;
    const int result = millrace_feed_next(feed_, kWaitMs, &event);
    if (result == MILLRACE_FEED_BATCH) {
        held_ = event.batch;
    }
    RETURN_IF_ERROR(ringStatus_);
    FeedEvent out;
    out.epoch = event.epoch;
    out.number = static_cast<std::int64_t>(event.number);
    switch (result) {
        case MILLRACE_FEED_BATCH:
            return view(event);
        case MILLRACE_FEED_STEP:
            out.kind = FeedEvent::Kind::kStep;
            out.isLast = event.is_last != 0;
            return out;
        case MILLRACE_FEED_END_OF_EPOCH:
            out.kind = FeedEvent::Kind::kEndOfEpoch;
            return out;
        case MILLRACE_FEED_END_OF_STREAM:
            out.kind = FeedEvent::Kind::kEndOfStream;
            return out;
        case MILLRACE_FEED_NOTICE:
            logWarn("train: feed",
                    {{"stream", options_.stream}, {"what", millrace_feed_error(feed_)}});
            return out;
        case MILLRACE_FEED_TIMEOUT:
            return out;
        case MILLRACE_FEED_ABORTED:
            out.kind = FeedEvent::Kind::kStopped;
            return out;
        case MILLRACE_FEED_LOST:
            if (options_.stream != "train") {
                return errorOf(result, event.number, options_.stream, millrace_feed_error(feed_));
            }
            logWarn("train: the feed is gone, waiting for it",
                    {{"stream", options_.stream}, {"why", millrace_feed_error(feed_)}});
            lostSinceNs_ = SystemClock().steadyNs();
            return out;
        default:
            return errorOf(result, event.number, options_.stream, millrace_feed_error(feed_));
    }
}

Result<FeedEvent> FeedSource::reconnect() {
    const int result = millrace_feed_reopen(feed_, kReopenMs);
    const std::int64_t now = SystemClock().steadyNs();
    FeedEvent out;
    if (result >= 0 && result != MILLRACE_FEED_ABORTED && result != MILLRACE_FEED_TIMEOUT) {
        logInfo("train: the feed is back", {{"stream", options_.stream}});
        lostSinceNs_ = 0;
    } else if (result == MILLRACE_FEED_ABORTED) {
        out.kind = FeedEvent::Kind::kStopped;
    } else if (result != MILLRACE_FEED_LOST && result != MILLRACE_FEED_TIMEOUT) {
        return errorOf(result, kExitResources, options_.stream, millrace_feed_error(feed_));
    } else if (now - lostSinceNs_ > options_.lease.count() * 1'000'000) {
        return unavailable(options_.stream, " feed: did not come back within ",
                           formatDuration(static_cast<double>(options_.lease.count()) / 1000));
    }
    return out;
}

Result<FeedEvent> FeedSource::view(const millrace_feed_event& event) {
    FeedEvent out;
    out.kind = FeedEvent::Kind::kBatch;
    out.epoch = event.epoch;
    out.number = static_cast<std::int64_t>(event.number);
    out.batch.epoch = out.epoch;
    out.batch.rows = static_cast<std::int64_t>(millrace_batch_rows(held_));
    out.batch.frame = static_cast<const std::byte*>(millrace_batch_memory(held_));
    out.batch.frameBytes = millrace_batch_bytes(held_);
    RETURN_IF_ERROR(fillInputs(out.batch));
    RETURN_IF_ERROR(fillHeads(out.batch));
    RETURN_IF_ERROR(fillRowIds(out.batch));
    return out;
}

Status FeedSource::fillInputs(BatchView& batch) const {
    const auto rows = static_cast<std::uint64_t>(batch.rows);
    millrace_column c{};
    const auto addDense = [&](std::uint32_t role, const char* name) -> Status {
        if (!find(held_, role, name, c)) {
            return dataLoss("frame: has no column ", name ? name : "of dense features");
        }
        RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_FLOAT32, rows, name ? name : "dense"));
        batch.dense.push_back({static_cast<const float*>(c.data), c.width});
        return okStatus();
    };
    if (options_.hasDense) {
        RETURN_IF_ERROR(addDense(MILLRACE_ROLE_DENSE, nullptr));
    }
    for (const std::string& name : options_.vectors) {
        RETURN_IF_ERROR(addDense(MILLRACE_ROLE_VECTOR, name.c_str()));
    }
    for (const std::string& name : options_.features) {
        if (!find(held_, MILLRACE_ROLE_ID, name.c_str(), c) &&
            !find(held_, MILLRACE_ROLE_LIST, name.c_str(), c) &&
            !find(held_, MILLRACE_ROLE_WEIGHTED, name.c_str(), c) &&
            !find(held_, MILLRACE_ROLE_SEQUENCE, name.c_str(), c) &&
            !find(held_, MILLRACE_ROLE_CARRY, name.c_str(), c)) {
            return dataLoss("frame: has no column ", name);
        }
        RETURN_IF_ERROR(checkItems(c, rows, name));
        batch.ids.push_back({static_cast<const std::int64_t*>(c.data), c.offsets, c.inverse,
                             c.weights, static_cast<std::int64_t>(c.items)});
    }
    return okStatus();
}

Status FeedSource::fillHeads(BatchView& batch) const {
    const auto rows = static_cast<std::uint64_t>(batch.rows);
    for (const std::string& name : options_.heads) {
        HeadColumn head;
        millrace_column c{};
        if (find(held_, MILLRACE_ROLE_LABEL, name.c_str(), c)) {
            RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_FLOAT32, rows, name));
            head.labels = static_cast<const float*>(c.data);
        } else if (options_.stream != "eval") {
            return dataLoss("frame: has no label ", name);
        }
        if (find(held_, MILLRACE_ROLE_WEIGHT, name.c_str(), c)) {
            RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_FLOAT32, rows, name));
            head.weights = static_cast<const float*>(c.data);
        }
        if (find(held_, MILLRACE_ROLE_MASK, name.c_str(), c)) {
            RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_UINT8, rows, name));
            head.masks = static_cast<const std::uint8_t*>(c.data);
        }
        batch.heads.push_back(head);
    }
    return okStatus();
}

Status FeedSource::fillRowIds(BatchView& batch) const {
    const auto rows = static_cast<std::uint64_t>(batch.rows);
    millrace_column c{};
    if (!find(held_, MILLRACE_ROLE_ROW_FILE, nullptr, c)) {
        return dataLoss("frame: has no column of rows' files");
    }
    RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_UINT32, rows, "of rows' files"));
    batch.rowFiles = static_cast<const std::uint32_t*>(c.data);
    if (!find(held_, MILLRACE_ROLE_ROW_NUMBER, nullptr, c)) {
        return dataLoss("frame: has no column of rows' numbers");
    }
    RETURN_IF_ERROR(checkFixed(c, MILLRACE_DTYPE_UINT64, rows, "of rows' numbers"));
    batch.rowNumbers = static_cast<const std::uint64_t*>(c.data);
    return okStatus();
}

Result<std::string> FeedSource::state(std::int64_t epoch, std::int64_t nextMicroBatch) {
    char* text = millrace_feed_state(feed_, static_cast<std::uint32_t>(epoch),
                                     static_cast<std::uint64_t>(nextMicroBatch));
    if (!text) {
        return internalError(options_.stream, " feed: ", millrace_feed_error(feed_));
    }
    std::string out = text;
    millrace_free(text);
    return out;
}

}  // namespace millrace::train
