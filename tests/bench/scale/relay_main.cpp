// Measures a relay's path behind the socket. The relay assembles the chunks of coded frames,
// verifies their checksums, decodes them into a rank's ring, compares the rows with the reference,
// and joins the parts of a step. The classes are the relay's own; only the connection is left out.
//
//   bench_relay_frames SOCKET NAME PARTS
//       SOCKET: of a feed, whose first frames are used; PARTS: frames that are joined into one step
//
// Prints one row of a table for each form of the frames: GB of frame memory per second of processor
// time, with memcpy() of the same bytes beside it in each round. Exits with 1 if frames that are
// not coded have less than 2 GB/s.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/feed/feed_link.h"
#include "backend/frame/codec.h"
#include "backend/ring/feed_hello.h"
#include "backend/stream/state/order_hash.h"
#include "daemon/worker/relay/parts_filler.h"
#include "daemon/worker/wire/frame_chunk.h"
#include "daemon/worker/wire/order_name.h"
#include "daemon/worker/wire/owed_frames.h"

namespace millrace::relay {
namespace {

constexpr double kLeastPerSecond = 2e9;
constexpr std::size_t kFrameBytes = std::size_t{160} << 20;  // more than the caches hold
constexpr std::size_t kRingBytes = std::size_t{64} << 20;
constexpr std::uint64_t kCredit = 64'000'000;   // that of a ring
constexpr std::size_t kSliceBytes = 16 * 1024;  // of a record of TLS
constexpr int kRounds = 7;
constexpr std::uint64_t kWorker = 7;

double secondsOf(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class T>
T checked(Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", std::string(messageOf(result.status())).c_str());
        std::exit(EXIT_FAILURE);
    }
    return *std::move(result);
}

void check(const Status& status) {
    static_cast<void>(checked(status.ok() ? Result<int>(0) : Result<int>(status)));
}

struct Frames {
    std::vector<frame::FrameBuffer> frames;
    frame::FrameBuffer columns;  ///< a frame without rows
    std::size_t bytes = 0;
};

/// The first frames of a feed.
Frames framesOf(const std::string& socket) {
    ring::FeedHello hello;
    hello.stream = "train";
    ring::FeedLink::Target target;
    target.path = socket;
    target.hello = ring::helloLine(hello);
    target.deadlineNs = INT64_MAX;
    ring::FeedLink::Opened opened = ring::FeedLink::open(target);
    if (opened.link == nullptr || !opened.link->begin().empty()) {
        std::fprintf(stderr, "%s: %s\n", socket.c_str(), opened.error.c_str());
        std::exit(EXIT_FAILURE);
    }
    Frames read;
    const auto copyOf = [](const unsigned char* payload, std::uint64_t bytes) {
        frame::FrameBuffer copy(bytes);
        std::memcpy(copy.bytes().data(), payload, bytes);
        return copy;
    };
    while (read.bytes < kFrameBytes &&
           opened.link->waitForEntry(INT64_MAX) == ring::FeedLink::Wait::kEntry) {
        ring::RingEntry entry{};
        unsigned char* payload = nullptr;
        std::uint64_t index = 0;
        if (opened.link->ring().take(entry, payload, index) != nullptr) {
            break;
        }
        const auto kind = static_cast<ring::EntryKind>(entry.kind);
        if (kind == ring::EntryKind::kFrame) {
            read.frames.push_back(copyOf(payload, entry.bytes));
            read.bytes += entry.bytes;
        } else if (kind == ring::EntryKind::kColumns) {
            read.columns = copyOf(payload, entry.bytes);
        }
        opened.link->ring().release(index);
        if (kind == ring::EntryKind::kEndOfStream || kind == ring::EntryKind::kError ||
            (kind == ring::EntryKind::kContinue && !opened.link->nextRing().empty())) {
            break;
        }
    }
    return read;
}

/// A frame as a worker sends it, in pieces as they come from the network.
struct Sent {
    stream::FramePart part;
    std::vector<grpc::ByteBuffer> chunks;
};

grpc::ByteBuffer inSlices(const grpc::ByteBuffer& message) {
    grpc::Slice whole;
    check(message.DumpToSingleSlice(&whole).ok() ? okStatus() : internalError("no slice"));
    std::vector<grpc::Slice> slices;
    for (std::size_t at = 0; at < whole.size(); at += kSliceBytes) {
        slices.emplace_back(whole.begin() + at, std::min(kSliceBytes, whole.size() - at));
    }
    return grpc::ByteBuffer(slices.data(), slices.size());
}

Sent sentOf(const frame::FrameBuffer& frame, std::int64_t number, const frame::CodecPlan& plan) {
    const frame::FrameView view = checked(frame::FrameView::open(frame.bytes()));
    const auto coded = std::make_shared<std::vector<std::byte>>();
    if (plan.empty()) {
        coded->resize(frame.size() + frame::FrameEncoder::kPlainHead);
        std::ranges::copy(frame.bytes(), coded->begin() + frame::FrameEncoder::kPlainHead);
        frame::FrameEncoder::wrap(*coded, true);
    } else {
        check(frame::FrameEncoder(plan).encode(view, *coded));
    }
    Sent sent;
    sent.part.worker = kWorker;
    sent.part.frame = number;
    sent.part.rows = sent.part.to = view.rows();
    sent.part.bytes = frame.size();
    sent.part.codedBytes = coded->size();
    sent.part.rowIds = stream::rowIdsHash(view.rowFiles(), view.rowNumbers());
    const segment::CodedFrame held{coded, *coded, {}};
    for (std::uint64_t at = 0; at < coded->size(); at += wire::kChunkBytesMost) {
        sent.chunks.push_back(
            inSlices(wire::makeChunk(wire::orderOf(sent.part), number, held, at)));
    }
    return sent;
}

/// A frame that memory gives.
class Fetched final : public FrameFetch {
 public:
    std::optional<Result<segment::CodedFrame>> take() override {
        MutexLock lock(mutex_);
        return std::exchange(coded_, std::nullopt);
    }
    std::uint64_t worker() const override { return 1; }
    void came(Result<segment::CodedFrame> coded) {
        MutexLock lock(mutex_);
        coded_ = std::move(coded);
    }

 private:
    Mutex mutex_;
    std::optional<Result<segment::CodedFrame>> coded_ MR_GUARDED_BY(mutex_);
};

/// A relay without connections: the frames come from memory.
class Bench final : public FrameSource {
 public:
    Bench(const Frames& frames, std::size_t numParts) : frames_(frames), numParts_(numParts) {
        ring::RingWriterOptions options;
        options.ringBytes = kRingBytes;
        writer_ = checked(ring::RingWriter::open(options, [this](int fd, std::uint64_t) {
            std::string wrong;
            ring_ = ring::ReaderRing::map(::fcntl(fd, F_DUPFD_CLOEXEC, 3), nullptr, wrong);
            return ring_ != nullptr ? okStatus() : internalError(wrong);
        }));
        rank_ = startThread("rank", [this](const std::stop_token& stop) { takeAll(stop); });
    }
    ~Bench() override {
        rank_.request_stop();
        ring_->wake();
    }

    std::shared_ptr<FrameFetch> fetch(const stream::FramePart& part, Handlers handlers) override {
        const auto fetch = std::make_shared<Fetched>();
        owed_->ask(wire::orderOf(part), part.frame, {part.codedBytes, part.bytes},
                   [fetch, onDone = std::move(handlers.onDone)](std::int64_t,
                                                                Result<segment::CodedFrame> coded) {
                       fetch->came(std::move(coded));
                       onDone();
                       return okStatus();
                   });
        return fetch;
    }

    struct Costs {
        double receiving = 0, all = 0;  ///< processor seconds; all: of this process
    };
    /// Takes every frame once.
    Costs round(const std::vector<Sent>& sent) {
        {
            MutexLock lock(mutex_);
            written_ = 0;
        }
        PartsFiller filler(*writer_, this,
                           {[this](std::uint64_t frames) {
                                MutexLock lock(mutex_);
                                written_ = frames;
                                changed_.notifyAll();
                            },
                            [](std::uint64_t, std::uint32_t) {},
                            [](const Status& why, std::uint64_t) { check(why); }});
        check(filler.setColumns(frames_.columns.bytes()));
        const double all = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
        const double receiving = secondsOf(CLOCK_THREAD_CPUTIME_ID);
        std::uint64_t ahead = kCredit / sent.front().part.bytes;
        ahead = std::max<std::uint64_t>(ahead, numParts_);
        for (std::size_t from = 0; from < sent.size(); from += numParts_) {
            awaitWritten(from + numParts_ <= ahead ? 0 : from + numParts_ - ahead);
            takeStep(std::span(sent).subspan(from, numParts_), filler);
        }
        awaitWritten(sent.size());
        return {secondsOf(CLOCK_THREAD_CPUTIME_ID) - receiving,
                secondsOf(CLOCK_PROCESS_CPUTIME_ID) - all};
    }

 private:
    void takeStep(std::span<const Sent> sent, PartsFiller& filler) {
        std::vector<ring::RingPart> parts;
        for (const Sent& frame : sent) {
            parts.push_back({frame.part, {}});
        }
        const ring::FrameSlot slot =
            checked(writer_->reserve(PartsFiller::framesBytes(parts), 0, number_, {}));
        const auto count = static_cast<std::int64_t>(sent.size());
        check(filler.add(slot, {0, number_, 1, count}, std::move(parts), {}));
        number_ += count;
        for (const Sent& frame : sent) {
            for (const grpc::ByteBuffer& chunk : frame.chunks) {
                check(owed_->came(checked(wire::FrameChunk::read(chunk)), nullptr));
            }
        }
    }
    void awaitWritten(std::uint64_t frames) {
        MutexLock lock(mutex_);
        while (written_ < frames) {
            changed_.wait(mutex_);
        }
    }
    void takeAll(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const std::uint32_t seen = ring_->beginWait();
            if (!ring_->hasNext() && !stop.stop_requested()) {
                ring_->sleep(seen, INT64_MAX);
            }
            ring_->endWait();
            while (ring_->hasNext()) {
                ring::RingEntry entry{};
                unsigned char* payload = nullptr;
                std::uint64_t index = 0;
                static_cast<void>(ring_->take(entry, payload, index));
                ring_->release(index);
            }
        }
    }

    const Frames& frames_;
    const std::size_t numParts_;
    const std::shared_ptr<wire::OwedFrames> owed_ =
        std::make_shared<wire::OwedFrames>(wire::FrameMemory::make());
    std::shared_ptr<ring::ReaderRing> ring_;
    std::unique_ptr<ring::RingWriter> writer_;
    std::int64_t number_ = 0;
    Mutex mutex_;
    CondVar changed_;
    std::uint64_t written_ MR_GUARDED_BY(mutex_) = 0;
    std::jthread rank_;
};

/// Seconds that memcpy() takes for all frames, into memory of the ring's size.
double copyAll(const Frames& frames, std::span<std::byte> to) {
    const double start = secondsOf(CLOCK_THREAD_CPUTIME_ID);
    std::size_t at = 0;
    for (const frame::FrameBuffer& frame : frames.frames) {
        at = at + frame.size() > to.size() ? 0 : at;
        std::memcpy(to.data() + at, frame.bytes().data(), frame.size());
        at += frame.size();
    }
    return secondsOf(CLOCK_THREAD_CPUTIME_ID) - start;
}

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

struct Form {
    std::string name;
    frame::CodecPlan plan;
};

std::vector<Form> formsOf(const Frames& frames) {
    const frame::FrameView first = checked(frame::FrameView::open(frames.frames.front().bytes()));
    const frame::FrameLayout layout = checked(frame::FrameLayout::of(first));
    frame::CodecChooser chooser(layout);
    check(chooser.add(first));
    const std::size_t columns = layout.numColumns();
    return {{"not coded", {}},
            {"chosen for 10 Gbit/s", frame::cheapestOf(chooser.measures(), 1.25e9)},
            {"chosen for 1 Gbit/s", frame::cheapestOf(chooser.measures(), 1.25e8)},
            {"lz4", frame::CodecPlan(columns, {frame::Codec::kLz4, 0})},
            {"zstd:1", frame::CodecPlan(columns, {frame::Codec::kZstd, 1})}};
}

bool measure(const Frames& frames, const std::string& name, std::size_t numParts) {
    frame::FrameBuffer copies(kRingBytes);
    bool isGood = true;
    for (const Form& form : formsOf(frames)) {
        std::vector<Sent> sent;
        std::uint64_t codedBytes = 0;
        for (const frame::FrameBuffer& frame : frames.frames) {
            sent.push_back(sentOf(frame, static_cast<std::int64_t>(sent.size()), form.plan));
            codedBytes += sent.back().part.codedBytes;
        }
        Bench bench(frames, numParts);
        bench.round(sent);  // the ring's pages are new
        copyAll(frames, copies.bytes());
        std::vector<double> rates, receiving, copied;
        const auto bytes = static_cast<double>(frames.bytes);
        for (int round = 0; round < kRounds; ++round) {
            const Bench::Costs costs = bench.round(sent);
            rates.push_back(bytes / costs.all);
            receiving.push_back(costs.receiving / costs.all);
            copied.push_back(bytes / copyAll(frames, copies.bytes()));
        }
        std::printf("| %s | %s | %.1f | %.2f | %.0f %% | %.2f |\n", name.c_str(), form.name.c_str(),
                    bytes / static_cast<double>(codedBytes), medianOf(rates) * 1e-9,
                    100 * medianOf(receiving), medianOf(copied) * 1e-9);
        std::fflush(stdout);
        isGood = isGood && (!form.plan.empty() || medianOf(rates) >= kLeastPerSecond);
    }
    return isGood;
}

}  // namespace
}  // namespace millrace::relay

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "bench_relay_frames SOCKET NAME PARTS\n");
        return EXIT_FAILURE;
    }
    millrace::relay::Frames frames = millrace::relay::framesOf(argv[1]);
    const auto numParts = static_cast<std::size_t>(std::atoi(argv[3]));
    if (numParts == 0 || frames.frames.size() < numParts) {
        std::fprintf(stderr, "bench_relay_frames: the feed has fewer than %s frames\n", argv[3]);
        return EXIT_FAILURE;
    }
    while (frames.frames.size() % numParts != 0) {
        frames.bytes -= frames.frames.back().size();
        frames.frames.pop_back();
    }
    return millrace::relay::measure(frames, argv[2], numParts) ? EXIT_SUCCESS : EXIT_FAILURE;
}
