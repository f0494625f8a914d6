#include "backend/feed/feed_reader.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "backend/feed/feed_handle.h"
#include "backend/feed/feed_structs.h"
#include "backend/stream/state/stream_state.h"
#include "backend/stream/state/tiny_json.h"

namespace ring = millrace::ring;
namespace stream = millrace::stream;

namespace {

constexpr int kHelloVersion = 2;
constexpr std::int64_t kDefaultConnectMs = 30'000;

std::string helloLine(const millrace_feed& feed, const std::string& state,
                      const ring::FeedProgress::Place& next) {
    return "{\"version\":" + std::to_string(kHelloVersion) +
           ",\"attempt\":" + std::to_string(feed.attempt) +
           ",\"rank\":" + std::to_string(feed.rank) +
           ",\"world_size\":" + std::to_string(feed.worldSize) +
           ",\"stream\":" + stream::quoteJson(feed.stream) +
           ",\"join\":" + (feed.isJoined ? "true" : "false") + ",\"last\":\"" +
           (feed.isLastDropped ? "drop" : "keep") +
           "\",\"numa_node\":" + std::to_string(feed.numaNode) +
           ",\"state\":" + (state.empty() ? "null" : state) +
           ",\"next\":{\"epoch\":" + std::to_string(next.epoch) +
           ",\"number\":" + std::to_string(next.number) + "}}\n";
}

/// Called on the link's thread. The hello reports the reader's position; from then on the reader
/// takes nothing more from its old ring, so no row is delivered twice.
std::string helloAgain(millrace_feed& feed) {
    const millrace::MutexLock lock(feed.position);
    if (feed.isOver) {
        return "";
    }
    feed.isPositionSaid = true;
    return helloLine(feed, feed.progress.newest().toText(), feed.progress.wanted());
}

ring::FeedLink::Target targetOf(millrace_feed& feed, std::string hello, std::int64_t timeoutMs) {
    ring::FeedLink::Target target{
        feed.path, std::move(hello), feed.abortFd, feed.abortEvent, ring::steadyAfter(timeoutMs),
        feed.rings};
    if (feed.stream == "train") {
        target.again = [&feed] { return helloAgain(feed); };
    }
    return target;
}

/// Takes a connection whose thread is not started yet; the answer's hashes must match those of
/// `start`, if it has some.
int takeLink(millrace_feed& feed, ring::FeedLink::Opened opened, stream::StreamState& start) {
    const stream::TinyJson& answer = opened.answer;
    std::string served, plan;
    if (opened.link == nullptr) {
        return feed.fail(opened.failure == ring::FeedLink::Failure::kRefused ? MILLRACE_FEED_INVALID
                         : opened.failure == ring::FeedLink::Failure::kAborted
                             ? MILLRACE_FEED_ABORTED
                             : MILLRACE_FEED_LOST,
                         opened.error);
    }
    feed.link = std::move(opened.link);
    std::int64_t version = 0, microRows = 0, stepBatches = 0;
    if (!answer.readCount("version", version) || version != kHelloVersion) {
        feed.link.reset();
        return feed.fail(MILLRACE_FEED_INVALID,
                         feed.path + ": the feed speaks version " + std::to_string(version) +
                             ", this library version " + std::to_string(kHelloVersion) +
                             "; the loader and the reader's library must be of one version");
    }
    if (!answer.readCount("micro_rows", microRows) || microRows == 0 ||
        !answer.readCount("step_batches", stepBatches) || stepBatches == 0 ||
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
    at.streamHash = feed.streamHash = served;
    at.planHash = feed.planHash = plan;
    feed.microRows = microRows;
    feed.stepBatches = stepBatches;
    if (feed.inputs.empty()) {  // else the caller may hold a pointer to it
        static_cast<void>(answer.readText("inputs", feed.inputs));
    }
    return 0;
}

/// Sets the position to that of the connection's hello, then starts the link's thread. In this
/// order: the thread may lose the connection at once and send the position in another hello.
int listen(millrace_feed& feed) {
    {
        const millrace::MutexLock lock(feed.position);
        feed.isPositionSaid = false;
    }
    if (std::string wrong = feed.link->begin(); !wrong.empty()) {
        feed.link.reset();
        return feed.fail(MILLRACE_FEED_LOST, std::move(wrong));
    }
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
    const std::string hello = helloLine(feed, text, next);
    if (const int result =
            takeLink(feed, ring::FeedLink::open(targetOf(feed, hello, timeout)), start)) {
        return result;
    }
    {
        const millrace::MutexLock lock(feed.position);
        feed.progress.begin(std::move(start), feed.microRows);
    }
    return listen(feed);
}

/// Resumes on a connection that was made again.
int goOn(millrace_feed& feed, ring::FeedLink::Opened opened) {
    stream::StreamState newest;
    {
        const millrace::MutexLock lock(feed.position);
        newest = feed.progress.newest();
    }
    const std::int64_t microRows = feed.microRows;
    if (const int result = takeLink(feed, std::move(opened), newest)) {
        return result;
    }
    if (feed.microRows != microRows) {
        feed.link.reset();
        return feed.finish(MILLRACE_FEED_INVALID, "the feed came back with other micro_rows");
    }
    return listen(feed);
}

/// Returns null or the error in the options; `to` gets all members that this library knows.
const char* readOptions(const millrace_feed_options* given, millrace_feed_options& to) {
    if (given == nullptr || given->struct_size < ring::kOldestBytes<millrace_feed_options>) {
        return "an argument is missing or out of range: options.struct_size is sizeof of it";
    }
    if (!ring::take(given, to)) {
        return "the options ask for something of a later version of this library, which "
               "is " MILLRACE_FEED_VERSION;
    }
    if (to.stream == nullptr || to.world_size < 1 || to.rank < 0 || to.rank >= to.world_size) {
        return "an argument is missing or out of range";
    }
    if (to.join < 0 || to.join > 1 ||
        (to.last != MILLRACE_LAST_KEEP && to.last != MILLRACE_LAST_DROP) || to.numa_node < -1) {
        return "options.join is 0 or 1, last one of millrace_last, numa_node -1 or a node";
    }
    return nullptr;
}

int openWith(millrace_feed& feed, const char* path, const millrace_feed_options& options) {
    feed.path = path;
    feed.stream = options.stream;
    feed.attempt = options.attempt;
    feed.rank = static_cast<std::uint64_t>(options.rank);
    feed.worldSize = static_cast<std::uint64_t>(options.world_size);
    feed.abortFd = options.abort_fd;
    feed.isJoined = options.join == 1;
    feed.isLastDropped = options.last == MILLRACE_LAST_DROP;
    feed.numaNode = options.numa_node;
    return feed.abortEvent < 0
               ? feed.fail(MILLRACE_FEED_FAILED, "millrace_feed_open: out of descriptors")
               : openFeed(feed, options);
}

int openWalled(const char* socket_path, const millrace_feed_options* given, millrace_feed** feed,
               char* error, std::size_t error_bytes) {
    auto opened = std::make_unique<millrace_feed>();
    millrace_feed_options options{};
    options.numa_node = -1;
    const char* wrong = feed == nullptr || socket_path == nullptr
                            ? "an argument is missing or out of range"
                            : readOptions(given, options);
    if (feed != nullptr) {
        *feed = nullptr;
    }
    const int result = wrong == nullptr ? openWith(*opened, socket_path, options)
                                        : opened->fail(MILLRACE_FEED_INVALID,
                                                       std::string("millrace_feed_open: ") + wrong);
    if (result == 0) {
        *feed = opened.release();
    } else {
        ring::writeError(opened->error, error, error_bytes);
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
    const std::int64_t timeout = timeout_ms > 0 ? timeout_ms : kDefaultConnectMs;
    if (feed->link != nullptr && feed->link->isLost() && feed->link->comesAgain()) {
        return ring::follow(*feed, ring::steadyAfter(timeout));
    }
    feed->link.reset();
    const std::string hello = helloAgain(*feed);
    return goOn(*feed, ring::FeedLink::open(targetOf(*feed, hello, timeout)));
}

int nextWalled(millrace_feed& feed, std::int64_t timeoutMs, const millrace_feed_event* event,
               millrace_feed_event& now) {
    if (!ring::isKnownSize(event)) {
        return feed.fail(MILLRACE_FEED_INVALID,
                         "millrace_feed_next: event->struct_size is sizeof(millrace_feed_event)");
    }
    if (feed.finished != MILLRACE_FEED_BATCH) {
        return feed.finished;
    }
    if (feed.isAborted.load(std::memory_order_seq_cst)) {
        return feed.fail(MILLRACE_FEED_ABORTED, "aborted");
    }
    return feed.link == nullptr ? feed.fail(MILLRACE_FEED_LOST, "the feed is gone")
                                : ring::nextEvent(feed, timeoutMs, now);
}

}  // namespace

int ring::follow(millrace_feed& feed, std::int64_t endNs) {
    return goOn(feed, feed.link->takeNext(endNs));
}

int millrace_feed_open(const char* socket_path, const millrace_feed_options* options,
                       millrace_feed** feed, char* error, std::size_t error_bytes) {
    return ring::walled([&] { return openWalled(socket_path, options, feed, error, error_bytes); },
                        [&] {
                            ring::writeError("millrace_feed_open: out of memory or threads", error,
                                             error_bytes);
                            return static_cast<int>(MILLRACE_FEED_FAILED);
                        });
}

int millrace_feed_next(millrace_feed* feed, std::int64_t timeout_ms, millrace_feed_event* event) {
    millrace_feed_event now{};
    int result = MILLRACE_FEED_INVALID;
    if (feed->isOwn()) {
        result = ring::walled([&] { return nextWalled(*feed, timeout_ms, event, now); },
                              [&] { return ring::outOfResources(*feed); });
    }
    if (result == MILLRACE_FEED_FAILED) {
        now.number = feed->failedWith;
    }
    static_cast<void>(ring::fill(now, event));
    return result;
}

int millrace_feed_reopen(millrace_feed* feed, std::int64_t timeout_ms) {
    if (!feed->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return ring::walled([&] { return reopenWalled(feed, timeout_ms); },
                        [&] { return ring::outOfResources(*feed); });
}
