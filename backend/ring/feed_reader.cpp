#include "backend/ring/feed_reader.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/frame/format.h"
#include "backend/ring/feed_batch.h"
#include "backend/ring/feed_link.h"
#include "backend/ring/feed_progress.h"
#include "backend/stream/state/record_bytes.h"
#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"
#include "backend/stream/state/tiny_json.h"

using millrace::Sum128;
using millrace::frame::CheckLevel;
using millrace::frame::FrameHeader;
namespace ring = millrace::ring;
namespace frame = millrace::frame;
namespace stream = millrace::stream;

struct millrace_feed {
    millrace_feed() = default;
    millrace_feed(const millrace_feed&) = delete;
    millrace_feed& operator=(const millrace_feed&) = delete;
    ~millrace_feed() {
        link.reset();  // its thread listens on the event
        if (abortEvent >= 0) {
            ::close(abortEvent);
        }
    }

    const pid_t owner = ::getpid();
    std::string path, stream, error;
    std::int64_t attempt = 0;
    std::uint64_t rank = 0, worldSize = 1;
    int abortFd = -1;
    /// Of abort(), which touches nothing else: links come and go in the reader's thread. Readable
    /// for good once it was called.
    const int abortEvent = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::atomic<bool> isAborted{false};
    std::unique_ptr<ring::FeedLink> link;
    ring::FeedProgress progress;
    std::int64_t microRows = 0;
    bool isAtEpochEnd = false;  ///< and the caller has not heard of it yet
    std::uint32_t endedEpoch = 0;
    std::uint64_t endedTotal = 0;
    int finished = MILLRACE_FEED_BATCH;  ///< what every later next() returns; BATCH: goes on
    std::uint64_t failedWith = 0;        ///< the feed's exit code, once it FAILED
    bool isOutOfResources = false;       ///< then `error` could not be written
    millrace_feed_stats stats{};
    std::shared_ptr<std::atomic<std::uint64_t>> held =
        std::make_shared<std::atomic<std::uint64_t>>(0);

    /// Not in a forked child: its threads are not there, its descriptors and memory the parent's.
    bool isOwn() const { return ::getpid() == owner; }
    int fail(int result, std::string why) {
        error = std::move(why);
        return result;
    }
    int finish(int result, std::string why) {
        finished = result;
        return fail(result, std::move(why));
    }
};

namespace {

constexpr int kHelloVersion = 2;
constexpr std::int64_t kDefaultConnectMs = 30'000;
constexpr std::uint64_t kExitResources = 6;  // of core/exit_codes.h, which this library lacks
constexpr std::int64_t kLongestSleepNs = 3'600'000'000'000;

/// The steady time after so many milliseconds; "never" where that does not fit.
std::int64_t steadyAfter(std::int64_t ms) {
    constexpr std::int64_t kMsMax = INT64_MAX / 1'000'000 / 2;
    return ms > kMsMax ? INT64_MAX : ring::steadyNs() + ms * 1'000'000;
}

/// Runs `body` behind the wall towards C: an exception becomes `failed`'s result.
template <class Body, class Failed>
auto walled(Body body, Failed failed) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        return failed();
    }
}

/// What an exception inside becomes: memory, or a thread that could not be started.
int outOfResources(millrace_feed& feed, millrace_feed_event* event) noexcept {
    if (event != nullptr) {
        *event = millrace_feed_event{};
        event->number = kExitResources;
    }
    feed.finished = MILLRACE_FEED_FAILED;
    feed.isOutOfResources = true;
    return MILLRACE_FEED_FAILED;
}

/// Of the row ids as they lie in the ring.
Sum128 hashOf(const millrace_batch& batch) {
    const auto idsAt = [&batch](std::size_t column) {
        return batch.bytes + batch.entries()[column].data.offset;
    };
    const std::size_t rows = batch.header().rows;
    return stream::batchHash(
        batch.epoch, batch.number,
        stream::rowIdsHash({reinterpret_cast<const std::uint32_t*>(idsAt(0)), rows},
                           {reinterpret_cast<const std::uint64_t*>(idsAt(1)), rows}));
}

std::string helloLine(const millrace_feed& feed, const std::string& state,
                      const ring::FeedProgress::Place& next) {
    return "{\"version\":" + std::to_string(kHelloVersion) +
           ",\"attempt\":" + std::to_string(feed.attempt) +
           ",\"rank\":" + std::to_string(feed.rank) +
           ",\"world_size\":" + std::to_string(feed.worldSize) +
           ",\"stream\":" + stream::quoteJson(feed.stream) +
           ",\"state\":" + (state.empty() ? "null" : state) +
           ",\"next\":{\"epoch\":" + std::to_string(next.epoch) +
           ",\"number\":" + std::to_string(next.number) + "}}\n";
}

/// Connects and says hello; the answer's hashes must be `start`'s where it has some.
int connectFeed(millrace_feed& feed, const ring::FeedProgress::Place& next,
                const std::string& state, std::int64_t timeoutMs, stream::StreamState& start) {
    ring::FeedLink::Target target{feed.path, helloLine(feed, state, next), feed.abortFd,
                                  feed.abortEvent, steadyAfter(timeoutMs)};
    stream::TinyJson answer;
    std::string error, served, plan;
    ring::FeedLink::Failure failure = ring::FeedLink::Failure::kLost;
    feed.link.reset();
    feed.link = ring::FeedLink::open(target, answer, error, failure);
    if (feed.link == nullptr) {
        return feed.fail(failure == ring::FeedLink::Failure::kRefused   ? MILLRACE_FEED_INVALID
                         : failure == ring::FeedLink::Failure::kAborted ? MILLRACE_FEED_ABORTED
                                                                        : MILLRACE_FEED_LOST,
                         error);
    }
    std::int64_t microRows = 0;
    if (!answer.readCount("micro_rows", microRows) || microRows == 0 ||
        !answer.readText("stream_hash", served) || !answer.readText("plan_hash", plan) ||
        served.size() != 32 || plan.size() != 32) {
        feed.link.reset();
        return feed.fail(MILLRACE_FEED_CORRUPT, feed.path + ": the feed's answer lacks something");
    }
    stream::Cursor& at = start.cursor;
    const bool fresh = at.streamHash.empty();
    if (!fresh && (at.streamHash != served || at.planHash != plan)) {
        feed.link.reset();
        return feed.fail(MILLRACE_FEED_INVALID, "state: of stream " + at.streamHash + " and plan " +
                                                    at.planHash + ", the feed serves " + served +
                                                    " and " + plan);
    }
    at.streamHash = served;
    at.planHash = plan;
    feed.microRows = microRows;
    return 0;
}

int openFeed(millrace_feed& feed, const millrace_feed_options& options) {
    stream::StreamState start;
    std::string text;
    if (options.state != nullptr && options.state[0] != '\0') {
        if (const std::string wrong = start.read(options.state); !wrong.empty()) {
            return feed.fail(MILLRACE_FEED_INVALID, wrong);
        }
        text = start.toText();
    }
    const std::int64_t timeout =
        options.connect_timeout_ms > 0 ? options.connect_timeout_ms : kDefaultConnectMs;
    const ring::FeedProgress::Place next{start.cursor.epoch, start.cursor.next};
    if (const int result = connectFeed(feed, next, text, timeout, start)) {
        return result;
    }
    feed.progress.begin(std::move(start), feed.microRows);
    return 0;
}

/// Until an entry can be taken. Costs no system call when one is there.
int waitForEntry(millrace_feed& feed, std::int64_t timeoutMs) {
    ring::FeedLink& link = *feed.link;
    ring::ReaderRing& from = link.ring();
    if (!link.isAborted() && from.hasNext()) {
        return 0;
    }
    const std::int64_t start = ring::steadyNs();
    const std::int64_t end = timeoutMs < 0 ? INT64_MAX : steadyAfter(timeoutMs);
    int result = -100;
    while (result == -100) {
        const std::uint32_t seen = from.beginWait();
        const bool lost = link.isLost();
        const std::int64_t left = end - ring::steadyNs();
        if (link.isAborted()) {
            result = feed.fail(MILLRACE_FEED_ABORTED, "aborted");
        } else if (from.hasNext()) {
            result = 0;
        } else if (lost) {
            result = feed.fail(MILLRACE_FEED_LOST, "the feed is gone");
        } else if (left <= 0) {
            result = MILLRACE_FEED_TIMEOUT;
        } else {
            from.sleep(seen, left < kLongestSleepNs ? left : kLongestSleepNs);
        }
        from.endWait();
    }
    feed.stats.wait_ns += static_cast<std::uint64_t>(ring::steadyNs() - start);
    return result;
}

const char* readRecord(millrace_feed& feed, const ring::RingEntry& entry,
                       const unsigned char* payload) {
    stream::SegmentRecord record;
    record.epoch = entry.epoch;
    if (const char* wrong = stream::readRecord(payload, entry.bytes, record)) {
        return wrong;
    }
    return feed.progress.addRecord(std::move(record));
}

/// Copies header and directory of a frame in shared memory and checks the copy: what is checked and
/// what is used later must be the same bytes, and the writer may change the ones in the ring. Null,
/// or what is wrong.
const char* copyDirectory(const unsigned char* payload, std::uint64_t size,
                          std::vector<std::uint64_t>& copy) {
    constexpr const char* kOutside = "the column directory lies outside the frame";
    FrameHeader header;
    if (size < sizeof header) {
        return "the frame is cut off or too long";
    }
    std::memcpy(&header, payload, sizeof header);
    const std::uint64_t rest = size - sizeof header;
    if (header.directoryBytes > rest) {
        return kOutside;
    }
    copy.resize((sizeof header + header.directoryBytes + 7) / 8);
    std::memcpy(copy.data(), &header, sizeof header);
    std::memcpy(reinterpret_cast<unsigned char*>(copy.data()) + sizeof header,
                payload + sizeof header, header.directoryBytes);
    // At this level nothing behind the directory is read.
    return frame::checkFrame(copy.data(), size, CheckLevel::kDirectory);
}

int takeFrame(millrace_feed& feed, const ring::RingEntry& entry, unsigned char* payload,
              std::uint64_t index, millrace_feed_event& event) {
    auto batch = std::make_unique<millrace_batch>();
    if (const char* wrong = copyDirectory(payload, entry.bytes, batch->directory)) {
        return feed.finish(MILLRACE_FEED_CORRUPT,
                           "micro-batch " + std::to_string(entry.number) + ": " + wrong);
    }
    batch->ring = feed.link->sharedRing();
    batch->held = feed.held;
    batch->index = index;
    batch->bytes = payload;
    batch->size = entry.bytes;
    batch->number = entry.number;
    batch->epoch = entry.epoch;
    const ring::FeedProgress::Place place{entry.epoch, static_cast<std::int64_t>(entry.number)};
    if (const char* wrong = feed.progress.addBatch(place, hashOf(*batch), batch->header().rows)) {
        return feed.finish(MILLRACE_FEED_CORRUPT, "micro-batch " + std::to_string(entry.number) +
                                                      " of epoch " + std::to_string(entry.epoch) +
                                                      ": " + wrong);
    }
    ++feed.stats.batches;
    feed.stats.rows += batch->header().rows;
    feed.stats.bytes += entry.bytes;
    feed.held->fetch_add(1);
    event.batch = batch.release();
    event.epoch = entry.epoch;
    event.number = entry.number;
    return MILLRACE_FEED_BATCH;
}

/// -100: nothing for the caller, take the next one.
int takeMark(millrace_feed& feed, const ring::RingEntry& entry, const unsigned char* payload,
             millrace_feed_event& event) {
    stream::StepMark mark;
    bool isNew = false;
    mark.epoch = entry.epoch;
    mark.number = static_cast<std::int64_t>(entry.number);
    const char* wrong = entry.number > static_cast<std::uint64_t>(stream::kMaxCount)
                            ? "a step's mark holds an impossible number"
                            : stream::readMark(payload, entry.bytes, mark);
    wrong = wrong != nullptr ? wrong : feed.progress.addMark(mark, isNew);
    if (wrong != nullptr) {
        return feed.finish(MILLRACE_FEED_CORRUPT, "the step before micro-batch " +
                                                      std::to_string(entry.number) + " of epoch " +
                                                      std::to_string(entry.epoch) + ": " + wrong);
    }
    if (!isNew) {
        return -100;  // told again after a reopen
    }
    if (mark.isLast) {
        feed.isAtEpochEnd = true;
        feed.endedEpoch = entry.epoch;
        feed.endedTotal = entry.number;
    }
    event.epoch = entry.epoch;
    event.number = entry.number;
    event.batches = static_cast<std::uint64_t>(mark.batches);
    event.rows = static_cast<std::uint64_t>(mark.rows);
    event.is_last = mark.isLast ? 1 : 0;
    return mark.batches > 0 ? MILLRACE_FEED_STEP : -100;
}

/// -100: nothing for the caller, take the next one.
int takeRecord(millrace_feed& feed, const ring::RingEntry& entry, const unsigned char* payload,
               millrace_feed_event& event) {
    const char* wrong = nullptr;
    switch (static_cast<ring::EntryKind>(entry.kind)) {
        case ring::EntryKind::kSegment:
            wrong = readRecord(feed, entry, payload);
            return wrong == nullptr ? -100 : feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        case ring::EntryKind::kStep:
            return takeMark(feed, entry, payload, event);
        case ring::EntryKind::kEndOfEpoch:
            // The last step's mark told of it: the caller hears it from there, also when the feed
            // went away in between.
            wrong = feed.progress.endEpoch(entry.epoch, static_cast<std::int64_t>(entry.number));
            return wrong == nullptr ? -100 : feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        case ring::EntryKind::kEndOfStream:
            feed.finished = MILLRACE_FEED_END_OF_STREAM;
            return feed.finished;
        case ring::EntryKind::kError:
            feed.failedWith = entry.number;
            event.number = entry.number;
            return feed.finish(MILLRACE_FEED_FAILED,
                               std::string(reinterpret_cast<const char*>(payload), entry.bytes));
        case ring::EntryKind::kContinue:
            wrong = feed.link->nextRing();
            return wrong == nullptr         ? -100
                   : feed.link->isAborted() ? feed.fail(MILLRACE_FEED_ABORTED, "aborted")
                                            : feed.fail(MILLRACE_FEED_LOST, wrong);
        default:
            return feed.finish(MILLRACE_FEED_CORRUPT, "a ring entry of an unknown kind");
    }
}

/// The end of the epoch that the last mark told of.
int endOfEpoch(millrace_feed& feed, millrace_feed_event& event) {
    feed.isAtEpochEnd = false;
    event = millrace_feed_event{};
    event.epoch = feed.endedEpoch;
    event.number = feed.endedTotal;
    return MILLRACE_FEED_END_OF_EPOCH;
}

int nextEvent(millrace_feed& feed, std::int64_t timeoutMs, millrace_feed_event& event) {
    int result = -100;
    while (result == -100) {
        if (feed.isAtEpochEnd) {
            return endOfEpoch(feed, event);
        }
        if (const int waited = waitForEntry(feed, timeoutMs)) {
            return waited;
        }
        const std::shared_ptr<ring::ReaderRing> from = feed.link->sharedRing();
        ring::RingEntry entry;
        unsigned char* payload = nullptr;
        std::uint64_t index = 0;
        if (const char* wrong = from->take(entry, payload, index)) {
            return feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        }
        if (entry.kind == static_cast<std::uint32_t>(ring::EntryKind::kFrame)) {
            return takeFrame(feed, entry, payload, index, event);
        }
        result = takeRecord(feed, entry, payload, event);
        from->release(index);
    }
    return result;
}

char* copyText(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy != nullptr) {
        std::memcpy(copy, text.c_str(), text.size() + 1);
    }
    return copy;
}

int openWalled(const char* socket_path, const millrace_feed_options* options, millrace_feed** feed,
               char* error, std::size_t error_bytes) {
    auto opened = std::make_unique<millrace_feed>();
    int result = MILLRACE_FEED_INVALID;
    if (feed == nullptr || socket_path == nullptr || options == nullptr ||
        options->struct_size != sizeof *options || options->stream == nullptr ||
        options->world_size < 1 || options->rank < 0 || options->rank >= options->world_size) {
        opened->error = "millrace_feed_open: an argument is missing or out of range";
    } else {
        *feed = nullptr;
        opened->path = socket_path;
        opened->stream = options->stream;
        opened->attempt = options->attempt;
        opened->rank = static_cast<std::uint64_t>(options->rank);
        opened->worldSize = static_cast<std::uint64_t>(options->world_size);
        opened->abortFd = options->abort_fd;
        result = opened->abortEvent < 0
                     ? opened->fail(MILLRACE_FEED_FAILED, "millrace_feed_open: out of descriptors")
                     : openFeed(*opened, *options);
    }
    if (result == 0) {
        *feed = opened.release();
    } else if (error != nullptr && error_bytes > 0) {
        const std::size_t n = std::min(opened->error.size(), error_bytes - 1);
        std::memcpy(error, opened->error.data(), n);
        error[n] = '\0';
    }
    return result;
}

int reopenWalled(millrace_feed* feed, std::int64_t timeout_ms) {
    if (feed->finished != MILLRACE_FEED_BATCH) {
        return feed->finished;
    }
    if (feed->isAborted.load(std::memory_order_seq_cst)) {
        return feed->fail(MILLRACE_FEED_ABORTED, "aborted");
    }
    const bool isTrain = feed->stream == "train";
    if (!isTrain) {
        return feed->fail(MILLRACE_FEED_INVALID, "only \"train\" goes on; open \"eval\" anew");
    }
    stream::StreamState newest = feed->progress.newest();
    const std::string text = newest.toText();
    const std::int64_t timeout = timeout_ms > 0 ? timeout_ms : kDefaultConnectMs;
    const std::int64_t microRows = feed->microRows;
    const int result = connectFeed(*feed, feed->progress.wanted(), text, timeout, newest);
    if (result == 0 && feed->microRows != microRows) {
        return feed->finish(MILLRACE_FEED_INVALID, "the feed came back with other micro_rows");
    }
    return result;
}

char* stateWalled(millrace_feed* feed, std::uint32_t epoch, std::uint64_t next) {
    stream::StreamState state;
    const ring::FeedProgress::Place place{
        epoch, static_cast<std::int64_t>(std::min<std::uint64_t>(next, stream::kMaxCount))};
    const char* wrong = feed->progress.advance(place, state);
    if (wrong != nullptr) {
        feed->fail(MILLRACE_FEED_INVALID, std::string("state of micro-batch ") +
                                              std::to_string(next) + " of epoch " +
                                              std::to_string(epoch) + ": " + wrong);
        return nullptr;
    }
    return copyText(state.toText());
}

}  // namespace

int millrace_feed_open(const char* socket_path, const millrace_feed_options* options,
                       millrace_feed** feed, char* error, std::size_t error_bytes) {
    return walled([&] { return openWalled(socket_path, options, feed, error, error_bytes); },
                  [&] {
                      constexpr std::string_view kWhy =
                          "millrace_feed_open: out of memory or threads";
                      if (error != nullptr && error_bytes > 0) {
                          const std::size_t n = std::min(kWhy.size(), error_bytes - 1);
                          std::memcpy(error, kWhy.data(), n);
                          error[n] = '\0';
                      }
                      return static_cast<int>(MILLRACE_FEED_FAILED);
                  });
}

int millrace_feed_next(millrace_feed* feed, std::int64_t timeout_ms, millrace_feed_event* event) {
    *event = millrace_feed_event{};
    if (!feed->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    if (feed->finished != MILLRACE_FEED_BATCH) {
        event->number = feed->isOutOfResources ? kExitResources : feed->failedWith;
        return feed->finished;
    }
    return walled(
        [&]() -> int {
            if (feed->isAborted.load(std::memory_order_seq_cst)) {
                return feed->fail(MILLRACE_FEED_ABORTED, "aborted");
            }
            return feed->link == nullptr ? feed->fail(MILLRACE_FEED_LOST, "the feed is gone")
                                         : nextEvent(*feed, timeout_ms, *event);
        },
        [&] { return outOfResources(*feed, event); });
}

int millrace_feed_reopen(millrace_feed* feed, std::int64_t timeout_ms) {
    if (!feed->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return walled([&] { return reopenWalled(feed, timeout_ms); },
                  [&] { return outOfResources(*feed, nullptr); });
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
    if (!feed->isOwn()) {
        return nullptr;
    }
    return walled([&] { return stateWalled(feed, epoch, next); },
                  []() -> char* { return nullptr; });
}

void millrace_feed_get_info(const millrace_feed* feed, millrace_feed_info* info) {
    *info = millrace_feed_info{};
    info->micro_rows = static_cast<std::uint64_t>(feed->microRows);
    const stream::Cursor& base = feed->progress.base().cursor;
    std::memcpy(info->stream_hash, base.streamHash.c_str(), 32);
    std::memcpy(info->plan_hash, base.planHash.c_str(), 32);
}

void millrace_feed_get_stats(const millrace_feed* feed, millrace_feed_stats* stats) {
    *stats = millrace_feed_stats{};
    if (!feed->isOwn()) {
        return;
    }
    *stats = feed->stats;
    stats->held_batches = feed->held->load();
    stats->ring_bytes = feed->link == nullptr ? 0 : feed->link->ring().dataBytes();
}

void millrace_feed_close(millrace_feed* feed) {
    if (feed != nullptr && feed->isOwn()) {
        delete feed;
    }
}
