// Calls on a feed other than next(): states, columns, statistics, rings.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "backend/feed/feed_handle.h"
#include "backend/feed/feed_structs.h"
#include "backend/stream/state/stream_state.h"

namespace millrace::ring {
namespace {

enum class Asked { kState, kStateAndForget };

/// Returns 0 or INVALID.
int stateOf(millrace_feed& feed, std::uint32_t epoch, std::uint64_t next, Asked asked,
            stream::StreamState& state) {
    const MutexLock lock(feed.position);
    const FeedProgress::Place place{
        epoch, static_cast<std::int64_t>(std::min<std::uint64_t>(next, stream::kMaxCount))};
    const char* wrong = asked == Asked::kState ? feed.progress.stateAt(place, state)
                                               : feed.progress.advance(place, state);
    return wrong == nullptr ? 0
                            : feed.fail(MILLRACE_FEED_INVALID,
                                        "state of micro-batch " + std::to_string(next) +
                                            " of epoch " + std::to_string(epoch) + ": " + wrong);
}

char* stateText(millrace_feed& feed, std::uint32_t epoch, std::uint64_t next, Asked asked) {
    if (!feed.isOwn()) {
        return nullptr;
    }
    return walled(
        [&]() -> char* {
            stream::StreamState state;
            return stateOf(feed, epoch, next, asked, state) == 0 ? copyText(state.toText())
                                                                 : nullptr;
        },
        []() -> char* { return nullptr; });
}

}  // namespace
}  // namespace millrace::ring

namespace ring = millrace::ring;

std::uint32_t millrace_feed_abi(void) {
    return MILLRACE_FEED_ABI;
}

const char* millrace_feed_version(void) {
    return MILLRACE_FEED_VERSION;
}

void millrace_free(void* text) {
    std::free(text);
}

void millrace_feed_abort(millrace_feed* feed) {
    if (!feed->isOwn()) {
        return;
    }
    feed->isAborted.store(true, std::memory_order_seq_cst);
    const std::uint64_t one = 1;
    static_cast<void>(!::write(feed->abortEvent, &one, sizeof one));
}

const char* millrace_feed_error(const millrace_feed* feed) {
    if (!feed->isOwn()) {
        return "the feed belongs to the process that opened it: a forked child opens one of its "
               "own";
    }
    return feed->isOutOfResources ? "the reader ran out of memory or threads" : feed->error.c_str();
}

char* millrace_feed_state(millrace_feed* feed, std::uint32_t epoch, std::uint64_t next) {
    return ring::stateText(*feed, epoch, next, ring::Asked::kStateAndForget);
}

char* millrace_feed_state_at(millrace_feed* feed, std::uint32_t epoch, std::uint64_t next) {
    return ring::stateText(*feed, epoch, next, ring::Asked::kState);
}

int millrace_feed_schema(millrace_feed* feed, millrace_column* columns, std::size_t max,
                         std::size_t* count) {
    if (!feed->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return ring::walled(
        [&]() -> int {
            if (const int result = ring::takeColumns(*feed)) {
                return result;
            }
            const int result = feed->columns.columns(nullptr, columns, max, count);
            return result == 0 ? 0
                               : feed->fail(result,
                                            "millrace_feed_schema: an argument is missing "
                                            "or columns[0].struct_size is wrong");
        },
        [&] { return ring::outOfResources(*feed); });
}

const char* millrace_feed_inputs(const millrace_feed* feed) {
    return feed->inputs.c_str();
}

int millrace_feed_on_ring(millrace_feed* feed, millrace_ring_callback callback, void* context) {
    if (!feed->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return ring::walled(
        [&] {
            feed->rings->tell(callback, context);
            return 0;
        },
        [&] { return ring::outOfResources(*feed); });
}

void millrace_feed_get_info(const millrace_feed* feed, millrace_feed_info* info) {
    millrace_feed_info now{};
    now.micro_rows = static_cast<std::uint64_t>(feed->microRows);
    now.step_batches = static_cast<std::uint64_t>(feed->stepBatches);
    std::memcpy(now.stream_hash, feed->streamHash.c_str(), 32);
    std::memcpy(now.plan_hash, feed->planHash.c_str(), 32);
    static_cast<void>(ring::fill(now, info));
}

void millrace_feed_get_stats(const millrace_feed* feed, millrace_feed_stats* stats) {
    millrace_feed_stats now{};
    if (feed->isOwn()) {
        now = feed->stats;
        now.held_batches = feed->held->load();
        now.ring_bytes = feed->link == nullptr ? 0 : feed->link->ring().dataBytes();
    }
    static_cast<void>(ring::fill(now, stats));
}

void millrace_feed_close(millrace_feed* feed) {
    if (feed != nullptr && feed->isOwn()) {
        delete feed;
    }
}
