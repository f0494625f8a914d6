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

// A call that changes the run of `request`: `work` gets the run's id if the caller may change it.
template <class Request, class Work>
auto changeOn(CallPool& pool, const ServiceParts& parts, const agent::RunService& runs,
              grpc::CallbackServerContext* context, const Request* request, Work work) {
    return answerOn(
        pool, context, [&access = parts.access, &runs, context, request, work]() -> Status {
            ASSIGN_OR_RETURN(const agent::RunService::Owned run, runs.ownerOf(request->run()));
            RETURN_IF_ERROR(access.mayChange(access.callerOf(*context), run));
            return work(run.id);
        });
}

template <class Response>
Status fillRun(const Result<values::RunSummary>& run, Response* response) {
    RETURN_IF_ERROR(run.status());
    *response->mutable_run() = convert::toProto(*run);
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

    Unary* Submit(Context*, const v1::SubmitRequest*, v1::SubmitResponse*) override;
    Unary* List(Context*, const v1::ListRunsRequest*, v1::ListRunsResponse*) override;
    Unary* Get(Context*, const v1::GetRunRequest*, v1::GetRunResponse*) override;
    Unary* Document(Context*, const v1::DocumentRequest*, v1::DocumentResponse*) override;
    grpc::ServerWriteReactor<v1::RunUpdate>* Watch(Context*, const v1::WatchRunsRequest*) override;
    Unary* MetricRange(Context*, const v1::MetricRangeRequest*, v1::MetricRangeResponse*) override;
    grpc::ServerWriteReactor<v1::MetricChunk>* WatchMetrics(
        Context*, const v1::WatchMetricsRequest*) override;
    grpc::ServerWriteReactor<v1::LogChunk>* Logs(Context*, const v1::LogsRequest*) override;
    Unary* Stop(Context*, const v1::StopRunRequest*, v1::StopRunResponse*) override;
    Unary* Resume(Context*, const v1::ResumeRunRequest*, v1::ResumeRunResponse*) override;
    Unary* Delete(Context*, const v1::DeleteRunRequest*, v1::DeleteRunResponse*) override;
    Unary* Restore(Context*, const v1::RestoreRunRequest*, v1::RestoreRunResponse*) override;
    Unary* SetNote(Context*, const v1::SetNoteRequest*, v1::SetNoteResponse*) override;
    Unary* SetTags(Context*, const v1::SetTagsRequest*, v1::SetTagsResponse*) override;
    Unary* ParseFilter(Context*, const v1::ParseFilterRequest*, v1::ParseFilterResponse*) override;

 private:
    agent::RunService& runs_;
    const ServiceParts parts_;
    const std::unique_ptr<agent::LiveTable::Subscription> news_;
};

}  // namespace

std::unique_ptr<v1::Runs::CallbackService> makeRunsService(agent::RunService& runs,
                                                           ServiceParts parts) {
    return std::make_unique<RunsService>(runs, parts);
}

RunsService::Unary* RunsService::Submit(Context* context, const v1::SubmitRequest* request,
                                        v1::SubmitResponse* response) {
    return answerOn(parts_.slow, context, [this, context, request, response]() -> Status {
        const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
        if (hasLeft()) {
            return cancelled("the client has gone");
        }
        values::SubmitRequest submission = convert::fromProto(*request);
        if (const Caller caller = parts_.access.callerOf(*context); !caller.name.empty()) {
            submission.owner = caller.name;
        }
        ASSIGN_OR_RETURN(const values::SubmitReply reply, runs_.submit(submission, hasLeft));
        *response = convert::toProto(reply);
        return okStatus();
    });
}

RunsService::Unary* RunsService::List(Context* context, const v1::ListRunsRequest* request,
                                      v1::ListRunsResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const values::RunPage page, runs_.list(convert::fromProto(*request)));
        *response = convert::toProto(page);
        return okStatus();
    });
}

RunsService::Unary* RunsService::Get(Context* context, const v1::GetRunRequest* request,
                                     v1::GetRunResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const values::RunDetail detail, runs_.get(request->run()));
        *response = convert::toProto(detail);
        return okStatus();
    });
}

RunsService::Unary* RunsService::Document(Context* context, const v1::DocumentRequest* request,
                                          v1::DocumentResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        const auto which = convert::fromProto(request->document());
        if (!which.has_value()) {
            return invalidArgument("document ", static_cast<int>(request->document()),
                                   ": this daemon knows plan and receipt");
        }
        constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 62;
        ASSIGN_OR_RETURN(
            agent::RunService::Document document,
            runs_.document(request->run(), *which,
                           static_cast<std::int64_t>(std::min(request->offset(), kMostOffset))));
        response->set_run_id(document.runId);
        response->set_piece(std::move(document.page.bytes));
        response->set_total_bytes(static_cast<std::uint64_t>(document.page.totalBytes));
        response->set_hash(document.page.hash);
        return okStatus();
    });
}

grpc::ServerWriteReactor<v1::RunUpdate>* RunsService::Watch(Context*,
                                                            const v1::WatchRunsRequest* request) {
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

RunsService::Unary* RunsService::MetricRange(Context* context,
                                             const v1::MetricRangeRequest* request,
                                             v1::MetricRangeResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const values::MetricHistory history,
                         runs_.metrics(convert::fromProto(*request)));
        *response = convert::toProto(history);
        return okStatus();
    });
}

grpc::ServerWriteReactor<v1::MetricChunk>* RunsService::WatchMetrics(
    Context*, const v1::WatchMetricsRequest* request) {
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

grpc::ServerWriteReactor<v1::LogChunk>* RunsService::Logs(Context*,
                                                          const v1::LogsRequest* request) {
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

RunsService::Unary* RunsService::Stop(Context* context, const v1::StopRunRequest* request,
                                      v1::StopRunResponse* response) {
    return changeOn(parts_.quick, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) {
                        const std::uint32_t wanted = request->grace_seconds() == 0
                                                         ? kDefaultGraceSeconds
                                                         : request->grace_seconds();
                        const std::chrono::seconds grace(std::min<std::uint32_t>(wanted, 3600));
                        return fillRun(runs_.stop(id, request->reason(), grace), response);
                    });
}

RunsService::Unary* RunsService::Resume(Context* context, const v1::ResumeRunRequest* request,
                                        v1::ResumeRunResponse* response) {
    return changeOn(parts_.quick, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) {
                        return fillRun(runs_.resume(id, request->step(),
                                                    {static_cast<int>(request->ranks()),
                                                     static_cast<int>(request->nodes())}),
                                       response);
                    });
}

RunsService::Unary* RunsService::Delete(Context* context, const v1::DeleteRunRequest* request,
                                        v1::DeleteRunResponse* response) {
    // A purge removes thousands of files: reads and small changes must not wait for it.
    CallPool& pool = request->purge() ? parts_.slow : parts_.quick;
    return changeOn(pool, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) -> Status {
                        ASSIGN_OR_RETURN(const values::RemovedRun removed,
                                         runs_.remove(id, request->purge()));
                        *response = convert::toProto(removed);
                        return okStatus();
                    });
}

RunsService::Unary* RunsService::Restore(Context* context, const v1::RestoreRunRequest* request,
                                         v1::RestoreRunResponse* response) {
    return changeOn(parts_.quick, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) {
                        return fillRun(runs_.restore(id), response);
                    });
}

RunsService::Unary* RunsService::SetNote(Context* context, const v1::SetNoteRequest* request,
                                         v1::SetNoteResponse* response) {
    return changeOn(parts_.quick, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) {
                        return fillRun(runs_.setNote(id, request->note()), response);
                    });
}

RunsService::Unary* RunsService::SetTags(Context* context, const v1::SetTagsRequest* request,
                                         v1::SetTagsResponse* response) {
    return changeOn(parts_.quick, parts_, runs_, context, request,
                    [this, request, response](const std::string& id) {
                        return fillRun(
                            runs_.setTags(id, {request->set().begin(), request->set().end()},
                                          {request->remove().begin(), request->remove().end()}),
                            response);
                    });
}

RunsService::Unary* RunsService::ParseFilter(Context* context,
                                             const v1::ParseFilterRequest* request,
                                             v1::ParseFilterResponse* response) {
    *response = convert::toProto(runs_.checkFilter(
        request->filter(), {request->order_by().begin(), request->order_by().end()}));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
}

}  // namespace millrace::rpc
