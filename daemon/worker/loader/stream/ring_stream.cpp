#include "daemon/worker/loader/stream/ring_stream.h"

#include <chrono>
#include <vector>

#include <unistd.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/filesystem/scratch_directory.h"
#include "backend/ring/feed_server.h"
#include "backend/ring/ring_sink.h"
#include "backend/stream/state/stream_state.h"
#include "backend/system/pipe.h"
#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/process.h"

namespace millrace::loader {

namespace {

constexpr std::chrono::seconds kReaderTime{10};
constexpr std::size_t kConnectionsBeside = 16;

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

class ProcessStream final : public RingStream {
 public:
    ~ProcessStream() override {
        server_.reset();
        reader_.reset();
    }

    Status start(const segment::StreamInput& input, const Options& options, LoaderMemory& memory) {
        if (directory_.path().empty()) {
            return errnoStatus(errno, "a directory for the ring");
        }
        ring::FeedServerOptions server;
        server.socketPath = directory_.path() + "/feed.sock";
        server.streamHash = input.streamHash();
        server.planHash = input.planHash();
        server.microRows = input.microRows();
        server.stepBatches = options.perStep;
        server.worldSize = options.ranks;
        server.maxConnections = static_cast<std::size_t>(options.ranks) + kConnectionsBeside;
        server.ring.budget = server.evalRing.budget = &memory.budget();
        server.ring.spare = server.evalRing.spare = &memory.spareBudget();
        ASSIGN_OR_RETURN(server_, ring::FeedServer::start(
                                      server, [this](const ring::FeedHello& hello,
                                                     std::shared_ptr<ring::RingWriter> writer) {
                                          opened_.push({hello.rank, std::move(writer)});
                                          return okStatus();
                                      }));
        RETURN_IF_ERROR(startReader(server.socketPath, options));
        std::vector<ring::RingSink::Rank> ranks;
        while (static_cast<int>(ranks.size()) < options.ranks) {
            auto rank = opened_.popFor(kReaderTime);
            if (!rank) {
                return deadlineExceeded("--through-ring: the reader process did not come within ",
                                        kReaderTime.count(), " s");
            }
            ranks.push_back({rank->first, std::move(rank->second)});
        }
        ring::RingSink::Options dealing;
        dealing.worldSize = options.ranks;
        dealing.perStep = options.perStep;
        dealing.last = options.last;
        dealing.microRows = input.microRows();
        dealing.layout = &input.layout();
        dealing.budget = &memory.budget();
        sink_ = std::make_unique<ring::RingSink>(std::move(ranks), dealing);
        return okStatus();
    }

    ring::FrameSink& sink() override { return *sink_; }

    Result<RingReading> finish(const Status& streamed) override {
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
        reading.steps = jsonInt(json, "steps");
        reading.rowsLeftOut = jsonInt(json, "rows_left_out");
        reading.batchesLeftOut = jsonInt(json, "batches_left_out");
        const double first = jsonReal(json, "first_batch_wall", -1);
        reading.firstBatchSeconds = first < 0 ? -1 : secondsSinceStart() - (wallSeconds() - first);
        return reading;
    }

 private:
    Status startReader(const std::string& socketPath, const Options& reader) {
        UniqueFd theirs;
        RETURN_IF_ERROR(makePipe(output_, theirs));
        SubprocessOptions options;
        options.argv = {programDirectory() + "/millrace-loader",
                        "ring-reader",
                        "--socket",
                        socketPath,
                        "--data",
                        reader.part,
                        "--ranks",
                        strCat(reader.ranks)};
        if (!reader.start.streamHash.empty()) {
            const std::string path = directory_.path() + "/state.json";
            stream::StreamState state;
            state.cursor = reader.start;
            RETURN_IF_ERROR(writeFileAtomic(path, state.toText()));
            options.argv.insert(options.argv.end(), {"--state", path});
        }
        if (reader.reads) {
            options.argv.push_back("--reads");
        }
        if (reader.last == stream::LastStep::kDrop) {
            options.argv.push_back("--drops-last");
        }
        options.stdoutFd = theirs.get();
        options.newSession = true;
        ASSIGN_OR_RETURN(Subprocess started, Subprocess::start(options));
        reader_ = std::make_unique<Subprocess>(std::move(started));
        return okStatus();
    }

    const ScratchDirectory directory_{"millrace-stream"};
    BoundedQueue<std::pair<int, std::shared_ptr<ring::RingWriter>>> opened_{4096};
    std::unique_ptr<ring::FeedServer> server_;
    std::unique_ptr<Subprocess> reader_;
    UniqueFd output_;
    std::unique_ptr<ring::RingSink> sink_;
};

}  // namespace

Result<std::unique_ptr<RingStream>> RingStream::open(const segment::StreamInput& input,
                                                     const Options& options, LoaderMemory& memory) {
    auto stream = std::make_unique<ProcessStream>();
    RETURN_IF_ERROR(stream->start(input, options, memory));
    return stream;
}

}  // namespace millrace::loader
