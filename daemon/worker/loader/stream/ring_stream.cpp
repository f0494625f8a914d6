#include "daemon/worker/loader/stream/ring_stream.h"

#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/json.h"
#include "backend/core/paths.h"
#include "backend/core/unique_fd.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/feed_server.h"
#include "backend/stream/receipt.h"
#include "backend/stream/state/order_hash.h"
#include "backend/system/pipe.h"
#include "backend/system/subprocess.h"
#include "daemon/worker/loader/checksum.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/scratch.h"
#include "daemon/worker/loader/sinks.h"
#include "daemon/worker/loader/stream/stream.h"

namespace millrace::loader {

namespace {

constexpr std::chrono::seconds kReaderTime{10};

double wallSeconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string readAll(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

}  // namespace

class RingStream::Impl {
 public:
    ~Impl() {
        server_.reset();
        reader_.reset();
    }

    Status open(const segment::StreamInput& input, const std::string& part, bool reads,
                MemoryBudget* budget) {
        if (directory_.path().empty()) {
            return errnoStatus(errno, "a directory for the ring");
        }
        ring::FeedServerOptions options;
        options.socketPath = directory_.path() + "/feed.sock";
        options.streamHash = input.streamHash();
        options.planHash = input.planHash();
        options.microRows = input.microRows();
        options.ring.budget = budget;
        options.evalRing.budget = budget;
        ASSIGN_OR_RETURN(server_, ring::FeedServer::start(
                                      options, [this](const ring::FeedHello&,
                                                      std::shared_ptr<ring::RingWriter> writer) {
                                          opened_.push(std::move(writer));
                                          return okStatus();
                                      }));
        RETURN_IF_ERROR(startReader(options.socketPath, part, reads));
        auto writer = opened_.popFor(kReaderTime);
        if (!writer) {
            return deadlineExceeded("--through-ring: the reader process did not come within ",
                                    kReaderTime.count(), " s");
        }
        sink_ = std::make_unique<RingSink>(
            std::vector<RingSink::Rank>{{0, std::move(*writer), std::nullopt}}, 1);
        return okStatus();
    }

    ring::FrameSink& sink() { return *sink_; }

    Result<RingReading> finish(const Status& streamed) {
        if (!streamed.ok()) {
            reader_.reset();
            return streamed;
        }
        const std::string text = readAll(output_.get());
        ASSIGN_OR_RETURN(const int code, reader_->wait());
        if (code != 0) {
            return internalError("--through-ring: the reader process ended with code ", code);
        }
        ASSIGN_OR_RETURN(const Json json, parseJson(text, "the reader's sums"));
        RingReading reading;
        reading.checksum = jsonString(json, "checksum");
        reading.orderHash = jsonString(json, "order_hash");
        reading.rows = jsonInt(json, "rows");
        const double first = jsonReal(json, "first_batch_wall", -1);
        reading.firstBatchSeconds = first < 0 ? -1 : secondsSinceStart() - (wallSeconds() - first);
        return reading;
    }

 private:
    Status startReader(const std::string& socketPath, const std::string& part, bool reads) {
        UniqueFd theirs;
        RETURN_IF_ERROR(makePipe(output_, theirs));
        SubprocessOptions options;
        options.argv = {programDirectory() + "/millrace-loader",
                        "ring-reader",
                        "--socket",
                        socketPath,
                        "--data",
                        part};
        if (reads) {
            options.argv.push_back("--reads");
        }
        options.stdoutFd = theirs.get();
        options.newSession = true;
        ASSIGN_OR_RETURN(Subprocess reader, Subprocess::start(options));
        reader_ = std::make_unique<Subprocess>(std::move(reader));
        return okStatus();
    }

    const ScratchDirectory directory_{"millrace-stream"};
    BoundedQueue<std::shared_ptr<ring::RingWriter>> opened_{4};
    std::unique_ptr<ring::FeedServer> server_;
    std::unique_ptr<Subprocess> reader_;
    UniqueFd output_;
    std::unique_ptr<RingSink> sink_;
};

RingStream::RingStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RingStream::~RingStream() = default;

Result<std::unique_ptr<RingStream>> RingStream::open(const segment::StreamInput& input,
                                                     const std::string& part, bool reads,
                                                     MemoryBudget* budget) {
    auto impl = std::make_unique<Impl>();
    RETURN_IF_ERROR(impl->open(input, part, reads, budget));
    return std::unique_ptr<RingStream>(new RingStream(std::move(impl)));
}

ring::FrameSink& RingStream::sink() {
    return impl_->sink();
}

Result<RingReading> RingStream::finish(const Status& streamed) {
    return impl_->finish(streamed);
}

int runRingReader(const std::string& socketPath, const std::string& part, bool reads) {
    millrace_feed_options options{};
    options.struct_size = sizeof options;
    options.world_size = 1;
    options.abort_fd = -1;
    options.stream = part.c_str();
    char error[512] = "";
    millrace_feed* feed = nullptr;
    if (millrace_feed_open(socketPath.c_str(), &options, &feed, error, sizeof error) != 0) {
        return fail(unavailable(error));
    }
    Checksum sums;
    stream::OrderHash order;
    double first = -1;
    millrace_feed_event event{};
    int result;
    while ((result = millrace_feed_next(feed, -1, &event)) == MILLRACE_FEED_BATCH ||
           result == MILLRACE_FEED_END_OF_EPOCH) {
        if (result != MILLRACE_FEED_BATCH) {
            continue;
        }
        first = first < 0 ? wallSeconds() : first;
        millrace_column files, rows;
        millrace_batch_column(event.batch, 0, &files);
        millrace_batch_column(event.batch, 1, &rows);
        order.add(event.epoch, event.number,
                  {static_cast<const std::uint32_t*>(files.data), files.num_values},
                  {static_cast<const std::uint64_t*>(rows.data), rows.num_values});
        if (reads) {
            sums.add(event.batch);
        }
        millrace_batch_release(event.batch);
    }
    if (result != MILLRACE_FEED_END_OF_STREAM) {
        const int code = fail(dataLoss(millrace_feed_error(feed)));
        millrace_feed_close(feed);
        return code;
    }
    millrace_feed_close(feed);
    const Json json = {{"checksum", reads ? sums.text() : ""},
                       {"order_hash", order.hex()},
                       {"rows", sums.rows()},
                       {"first_batch_wall", first}};
    std::puts(dumpJson(json).c_str());
    return kExitDone;
}

}  // namespace millrace::loader
