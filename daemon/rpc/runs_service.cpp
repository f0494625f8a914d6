#include "daemon/rpc/runs_service.h"

#include <deque>
#include <utility>

#include "daemon/rpc/stream_writer.h"
#include "proto/convert/detail_convert.h"
#include "proto/convert/enum_convert.h"
#include "proto/convert/log_convert.h"
#include "proto/convert/metric_convert.h"
#include "proto/convert/rpc_options.h"
#include "proto/convert/run_convert.h"
#include "proto/convert/submit_convert.h"

namespace millrace::rpc {
namespace {

constexpr std::chrono::milliseconds kFollowInterval{100};
constexpr std::uint32_t kDefaultWatchMs = 200, kLeastWatchMs = 50, kMostWatchMs = 60'000;

// Puts `value` into the response of a call, or returns its error.
template <class Value, class Response>
Status fill(const Result<Value>& value, Response* response) {
    RETURN_IF_ERROR(value.status());
    *response = convert::toProto(*value);
    return okStatus();
}

/// Returns updates one by one, from changes that arrive in batches.
class UpdateSource {
 public:
    explicit UpdateSource(agent::RunWatch watch) : watch_(std::move(watch)) {}

    Result<Produced<v1::RunUpdate>> next() {
        if (waiting_.empty() && !isEnd_) {
            RETURN_IF_ERROR(refill());
        }
        Produced<v1::RunUpdate> produced;
        if (!waiting_.empty()) {
            produced.message = std::move(waiting_.front());
            waiting_.pop_front();
        }
        produced.isMoreReady = !waiting_.empty();
        produced.isEnd = isEnd_ && waiting_.empty();
        return produced;
    }

 private:
    Status refill() {
        ASSIGN_OR_RETURN(agent::RunChanges changes, watch_.next());
        for (values::RunSummary& run : changes.runs) {
            values::RunUpdate update{std::move(run)};
            update.isRemoved = update.run.isDeleted();
            waiting_.push_back(convert::toProto(update));
        }
        if (changes.isSnapshotEnd) {
            waiting_.push_back(convert::toProto(values::RunUpdate{{}, false, true}));
        }
        isEnd_ = changes.isEnd;
        return okStatus();
    }

    agent::RunWatch watch_;
    std::deque<v1::RunUpdate> waiting_;
    bool isEnd_ = false;
};

/// Returns lines in chunks. The first chunk that has caught up is sent even if it is empty: the
/// reader waits for it.
class ChunkSource {
 public:
    explicit ChunkSource(agent::MetricFollower follower) : follower_(std::move(follower)) {}

    Result<Produced<v1::MetricChunk>> next() {
        ASSIGN_OR_RETURN(const values::MetricChunk chunk, follower_.next(kChunkItems));
        Produced<v1::MetricChunk> produced;
        const bool isFirstCaughtUp = chunk.isCaughtUp && !std::exchange(hasCaughtUp_, true);
        if (!chunk.lines.empty() || chunk.isEnd || chunk.replacesAfterStep || isFirstCaughtUp) {
            produced.message = convert::toProto(chunk);
        }
        produced.isEnd = chunk.isEnd;
        produced.isMoreReady = !chunk.isCaughtUp;
        return produced;
    }

 private:
    agent::MetricFollower follower_;
    bool hasCaughtUp_ = false;
};

Result<Produced<v1::LogChunk>> nextOf(agent::LogFollower& follower) {
    const agent::LogFollower::Turn turn = follower.next(kChunkItems);
    Produced<v1::LogChunk> produced;
    produced.isEnd = turn.chunk.isEnd;
    produced.isMoreReady = turn.isMore;
    if (!turn.chunk.lines.empty() || turn.chunk.droppedLines > 0 || turn.chunk.isEnd) {
        produced.message = convert::toProto(turn.chunk);
    }
    return produced;
}

class RunsService final : public v1::Runs::CallbackService {
 public:
    RunsService(agent::RunService& runs, ServiceParts parts)
        : runs_(runs),
          parts_(parts),
          news_(runs.live().subscribe([&pump = parts.pump] { pump.tellNews(); })) {}

    using Context = grpc::CallbackServerContext;
    using Unary = grpc::ServerUnaryReactor;

    Unary* Submit(Context* context, const v1::SubmitRequest* request,
                  v1::SubmitResponse* response) override {
        return answerOn(parts_.slow, context, [this, context, request, response] {
            const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
            if (hasLeft()) {
                return cancelled("the client has gone");
            }
            values::SubmitRequest submission = convert::fromProto(*request);
            const std::string certificate = parts_.access.callerOf(*context).name;
            submission.owner = certificate.empty() ? submission.owner : certificate;
            return fill(runs_.submit(submission, hasLeft, certificate), response);
        });
    }

    Unary* List(Context* context, const v1::ListRunsRequest* request,
                v1::ListRunsResponse* response) override {
        return answerOn(parts_.quick, context, [this, request, response] {
            return fill(runs_.list(convert::fromProto(*request)), response);
        });
    }

    Unary* Get(Context* context, const v1::GetRunRequest* request,
               v1::GetRunResponse* response) override {
        return answerOn(parts_.quick, context, [this, request, response] {
            return fill(runs_.get(request->run()), response);
        });
    }

    Unary* Document(Context* context, const v1::DocumentRequest* request,
                    v1::DocumentResponse* response) override {
        return answerOn(parts_.quick, context,
                        [this, request, response] { return document(*request, *response); });
    }

    grpc::ServerWriteReactor<v1::RunUpdate>* Watch(Context*,
                                                   const v1::WatchRunsRequest* request) override {
        const std::uint32_t wanted =
            request->interval_ms() == 0 ? kDefaultWatchMs : request->interval_ms();
        return openStream<v1::RunUpdate>(
            parts_.quick, parts_.pump,
            [this, request]() -> Result<Source<v1::RunUpdate>> {
                ASSIGN_OR_RETURN(agent::RunWatch watch,
                                 runs_.watch({request->runs().begin(), request->runs().end()}));
                auto source = std::make_shared<UpdateSource>(std::move(watch));
                return [source] { return source->next(); };
            },
            {std::chrono::milliseconds(std::clamp(wanted, kLeastWatchMs, kMostWatchMs)), true});
    }

    Unary* MetricRange(Context* context, const v1::MetricRangeRequest* request,
                       v1::MetricRangeResponse* response) override {
        return answerOn(parts_.quick, context, [this, request, response] {
            return fill(runs_.metrics(convert::fromProto(*request)), response);
        });
    }

    grpc::ServerWriteReactor<v1::MetricChunk>* WatchMetrics(
        Context*, const v1::WatchMetricsRequest* request) override {
        return openStream<v1::MetricChunk>(
            parts_.quick, parts_.pump,
            [this, request]() -> Result<Source<v1::MetricChunk>> {
                ASSIGN_OR_RETURN(agent::MetricFollower follower,
                                 runs_.followMetrics(convert::fromProto(*request)));
                auto source = std::make_shared<ChunkSource>(std::move(follower));
                return [source] { return source->next(); };
            },
            {kFollowInterval, true});
    }

    grpc::ServerWriteReactor<v1::LogChunk>* Logs(Context*,
                                                 const v1::LogsRequest* request) override {
        return openStream<v1::LogChunk>(
            parts_.quick, parts_.pump,
            [this, request]() -> Result<Source<v1::LogChunk>> {
                ASSIGN_OR_RETURN(agent::LogFollower follower,
                                 runs_.followLogs(convert::fromProto(*request),
                                                  [&pump = parts_.pump] { pump.tellNews(); }));
                auto source = std::make_shared<agent::LogFollower>(std::move(follower));
                return [source] { return nextOf(*source); };
            },
            {kFollowInterval, true});
    }

    Unary* Stop(Context* context, const v1::StopRunRequest* request,
                v1::StopRunResponse* response) override {
        return changeOn(context, request, response, [this, request](const std::string& id) {
            const std::uint32_t wanted =
                request->grace_seconds() == 0 ? kDefaultGraceSeconds : request->grace_seconds();
            const std::chrono::seconds grace(std::min<std::uint32_t>(wanted, 3600));
            return runs_.stop(id, request->reason(), grace);
        });
    }

    Unary* Resume(Context* context, const v1::ResumeRunRequest* request,
                  v1::ResumeRunResponse* response) override {
        return changeOn(context, request, response, [this, request](const std::string& id) {
            return runs_.resume(
                id, request->step(),
                {static_cast<int>(request->ranks()), static_cast<int>(request->nodes())});
        });
    }

    Unary* Delete(Context* context, const v1::DeleteRunRequest* request,
                  v1::DeleteRunResponse* response) override {
        // A purge removes thousands of files: reads and small changes must not wait for it.
        CallPool& pool = request->purge() ? parts_.slow : parts_.quick;
        return answerOn(pool, context, [this, context, request, response]() -> Status {
            ASSIGN_OR_RETURN(const std::string id, mayChange(context, request->run()));
            return fill(runs_.remove(id, request->purge()), response);
        });
    }

    Unary* Restore(Context* context, const v1::RestoreRunRequest* request,
                   v1::RestoreRunResponse* response) override {
        return changeOn(context, request, response,
                        [this](const std::string& id) { return runs_.restore(id); });
    }

    Unary* SetNote(Context* context, const v1::SetNoteRequest* request,
                   v1::SetNoteResponse* response) override {
        return changeOn(context, request, response, [this, request](const std::string& id) {
            return runs_.setNote(id, request->note());
        });
    }

    Unary* SetTags(Context* context, const v1::SetTagsRequest* request,
                   v1::SetTagsResponse* response) override {
        return changeOn(context, request, response, [this, request](const std::string& id) {
            return runs_.setTags(id, {request->set().begin(), request->set().end()},
                                 {request->remove().begin(), request->remove().end()});
        });
    }

    Unary* ParseFilter(Context* context, const v1::ParseFilterRequest* request,
                       v1::ParseFilterResponse* response) override {
        *response = convert::toProto(runs_.checkFilter(
            request->filter(), {request->order_by().begin(), request->order_by().end()}));
        return finished(context, okStatus());
    }

 private:
    // Returns the id of `run` if the caller may change it.
    Result<std::string> mayChange(Context* context, const std::string& run) const {
        ASSIGN_OR_RETURN(agent::RunService::Owned owned, runs_.ownerOf(run));
        RETURN_IF_ERROR(parts_.access.mayChange(parts_.access.callerOf(*context), owned));
        return std::move(owned.id);
    }

    // Changes the run of `request` with `change`, and answers with that run.
    template <class Request, class Response, class Change>
    Unary* changeOn(Context* context, const Request* request, Response* response, Change change) {
        return answerOn(
            parts_.quick, context, [this, context, request, response, change]() -> Status {
                ASSIGN_OR_RETURN(const std::string id, mayChange(context, request->run()));
                return fill(change(id), response->mutable_run());
            });
    }

    Status document(const v1::DocumentRequest& request, v1::DocumentResponse& response) const {
        const auto which = convert::fromProto(request.document());
        if (!which.has_value()) {
            return invalidArgument("document ", static_cast<int>(request.document()),
                                   ": this daemon knows plan and receipt");
        }
        constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 62;
        ASSIGN_OR_RETURN(
            agent::RunService::Document document,
            runs_.document(request.run(), *which,
                           static_cast<std::int64_t>(std::min(request.offset(), kMostOffset))));
        response.set_run_id(document.runId);
        response.set_piece(std::move(document.page.bytes));
        response.set_total_bytes(static_cast<std::uint64_t>(document.page.totalBytes));
        response.set_hash(document.page.hash);
        return okStatus();
    }

    agent::RunService& runs_;
    const ServiceParts parts_;
    const std::shared_ptr<void> news_;
};

}  // namespace

std::unique_ptr<v1::Runs::CallbackService> makeRunsService(agent::RunService& runs,
                                                           ServiceParts parts) {
    return std::make_unique<RunsService>(runs, parts);
}

}  // namespace millrace::rpc
