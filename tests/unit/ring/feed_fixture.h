#pragma once
// A feed and a reader in a temporary folder, and frames that can be told apart.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/feed/feed_reader.h"
#include "backend/frame/frame.h"
#include "backend/ring/feed_server.h"
#include "backend/ring/ring_sink.h"
#include "tests/support/temp_dir.h"

namespace millrace::ring {

inline const std::string kStream(32, 'a'), kPlan(32, 'b');

inline FeedServerOptions serverOptions(const std::string& path) {
    FeedServerOptions options;
    options.socketPath = path;
    options.streamHash = kStream;
    options.planHash = kPlan;
    options.microRows = 8;
    options.stepBatches = 4;
    options.attempt = 1;
    options.ring.ringBytes = 64 << 10;
    options.evalRing.ringBytes = 64 << 10;
    return options;
}

inline const frame::FrameLayout& testLayout() {
    static const frame::FrameLayout layout = *frame::FrameLayout::make(
        {frame::ColumnSpec::fixed(frame::Role::kId, frame::DType::kInt64, "id"),
         frame::ColumnSpec::list(frame::Role::kList, frame::DType::kInt64, "list"),
         frame::ColumnSpec::fixed(frame::Role::kLabel, frame::DType::kFloat32, "y")},
        kStream);
    return layout;
}

/// Frame `number`: `rows` rows (epoch, number * 1000 + i), `values` list values all equal to
/// number.
inline frame::FrameBuffer makeFrame(std::uint32_t epoch, std::uint64_t number, std::uint32_t rows,
                                    std::uint64_t values) {
    frame::FrameWriter writer(testLayout());
    const std::vector<std::uint64_t> sizes = {0, 0, 0, values, 0};
    frame::FrameBuffer buffer(*writer.declare(rows, sizes));
    const Status bound =
        writer.bind(buffer.bytes(), {epoch, number / 3, static_cast<std::uint32_t>(number % 3)});
    INVARIANT(bound.ok(), "the buffer fits");
    for (std::uint32_t i = 0; i < rows; ++i) {
        writer.values<std::uint32_t>(0)[i] = epoch;
        writer.values<std::uint64_t>(1)[i] = number * 1000 + i;
        writer.values<std::int64_t>(2)[i] = static_cast<std::int64_t>(number);
        writer.values<float>(4)[i] = static_cast<float>(i);
        writer.offsets(3)[i] = static_cast<std::int64_t>(values * i / rows);
    }
    for (std::int64_t& v : writer.values<std::int64_t>(3)) {
        v = static_cast<std::int64_t>(number);
    }
    return buffer;
}

/// Reserves, copies and commits frame `number` of epoch 0.
inline Status putFrame(FrameSink& sink, std::uint64_t number, std::span<const std::byte> bytes,
                       std::stop_token stop) {
    const auto n = static_cast<std::int64_t>(number);
    ASSIGN_OR_RETURN(const FrameSlot slot, sink.reserve(bytes.size(), 0, n, std::move(stop)));
    std::memcpy(slot.bytes.data(), bytes.data(), bytes.size());
    return sink.commit(slot, 0, n);
}

/// stream::rowIdsHash() of makeFrame()'s rows.
inline Sum128 idsOf(std::uint32_t epoch, std::uint64_t number, std::uint32_t rows) {
    const std::vector<std::uint32_t> files(rows, epoch);
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < rows; ++i) {
        numbers.push_back(number * 1000 + i);
    }
    return stream::rowIdsHash(files, numbers);
}

/// The sink that marks the steps of one rank's ring; `hello` may name the state to resume from.
inline RingSink sinkOf(RingWriter& writer, std::int64_t perStep = 4, const FeedHello& hello = {}) {
    RingSink::Options options;
    options.worldSize = hello.worldSize;
    options.perStep = perStep;
    options.last = hello.last;
    options.microRows = 8;
    options.layout = &testLayout();
    if (hello.state) {
        options.beginAt(*hello.state);
    }
    const std::shared_ptr<StepSink> ring(&writer, [](StepSink*) {});
    return RingSink({{hello.rank, ring, hello.next, hello.join}}, options);
}

inline bool isFrame(const millrace_batch* batch, std::uint64_t number) {
    millrace_column id{}, list{};
    id.struct_size = list.struct_size = sizeof id;
    if (millrace_batch_number(batch) != number ||
        millrace_batch_find(batch, MILLRACE_ROLE_ID, "id", &id) != 0 ||
        millrace_batch_find(batch, MILLRACE_ROLE_LIST, "list", &list) != 0) {
        return false;
    }
    bool right = true;
    for (std::uint64_t i = 0; i < id.items; ++i) {
        right &= static_cast<std::int64_t*>(id.data)[i] == static_cast<std::int64_t>(number);
    }
    for (std::uint64_t i = 0; i < list.num_values; ++i) {
        right &= static_cast<std::int64_t*>(list.data)[i] == static_cast<std::int64_t>(number);
    }
    return right;
}

inline Status writeFrame(FrameSink& sink, std::uint64_t number, std::stop_token stop,
                         std::uint32_t rows = 8, std::uint64_t values = 16) {
    const frame::FrameBuffer frame = makeFrame(0, number, rows, values);
    return putFrame(sink, number, frame.bytes(), stop);
}

/// A feed in this process whose producer is a function of the hello.
class Feed {
 public:
    using Producer = std::function<void(const FeedHello&, RingWriter&, std::stop_token)>;

    Feed(FeedServerOptions options, Producer producer) : producer_(std::move(producer)) {
        auto server = FeedServer::start(
            std::move(options), [this](const FeedHello& hello, std::shared_ptr<RingWriter> writer) {
                threads_.emplace_back([this, hello, writer](std::stop_token stop) {
                    producer_(hello, *writer, stop);
                });
                return okStatus();
            });
        EXPECT_TRUE(server.ok()) << server.status();
        server_ = *std::move(server);
    }
    ~Feed() {
        for (std::jthread& thread : threads_) {
            thread.request_stop();
        }
        threads_.clear();
        server_.reset();
    }

 private:
    Producer producer_;
    std::vector<std::jthread> threads_;  // the server's thread adds, joined before it ends
    std::unique_ptr<FeedServer> server_;
};

/// A reader with the C library's calls.
class Reader {
 public:
    ~Reader() { millrace_feed_close(feed_); }
    int open(const std::string& path, const char* state = nullptr, const char* stream = "train",
             int rank = 0, int world = 1, int abortFd = -1, std::int64_t attempt = 1) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.rank = rank;
        options.world_size = world;
        options.abort_fd = abortFd;
        options.join = join;
        options.last = last;
        options.numa_node = numaNode;
        options.attempt = attempt;
        options.stream = stream;
        options.state = state;
        options.connect_timeout_ms = 5000;
        char text[512] = "";
        const int result = millrace_feed_open(path.c_str(), &options, &feed_, text, sizeof text);
        error = text;
        return result;
    }
    /// Like next(), but also returns the ends of steps.
    int nextEvent(std::int64_t timeoutMs = 20'000) {
        event.struct_size = sizeof event;
        const int result = millrace_feed_next(feed_, timeoutMs, &event);
        error = millrace_feed_error(feed_);
        steps += result == MILLRACE_FEED_STEP ? 1 : 0;
        return result;
    }
    int next(std::int64_t timeoutMs = 20'000) {
        int result = nextEvent(timeoutMs);
        while (result == MILLRACE_FEED_STEP) {
            result = nextEvent(timeoutMs);
        }
        return result;
    }
    std::string state(std::uint32_t epoch, std::uint64_t number) {
        char* text = millrace_feed_state(feed_, epoch, number);
        std::string copy = text == nullptr ? "" : text;
        millrace_free(text);
        return copy;
    }
    millrace_feed* feed() { return feed_; }
    millrace_feed_event event{};
    std::string error;
    int steps = 0;
    // Options; set them before open().
    int join = 0, last = MILLRACE_LAST_KEEP, numaNode = -1;

 private:
    millrace_feed* feed_ = nullptr;
};

}  // namespace millrace::ring
