#include "daemon/rpc/runs_service.h"

#include <deque>
#include <utility>

#include "daemon/rpc/run_messages.h"
#include "daemon/rpc/stream_writer.h"
#include "proto/convert/metric_convert.h"
#include "proto/convert/rpc_options.h"
#include "proto/convert/run_convert.h"

namespace millrace::rpc {
namespace {

constexpr std::chrono::milliseconds kFollowInterval{100};
constexpr std::uint32_t kDefaultWatchMs = 200, kLeastWatchMs = 50, kMostWatchMs = 60'000;
constexpr int kDefaultPoints = 2'000, kMostPoints = 200'000;

// "filter, character 12: ..." -> 12
std::uint32_t columnOf(std::string_view message) {
    const std::size_t at = message.find("character ");
    if (at == std::string_view::npos) {
        return 0;
    }
    return static_cast<std::uint32_t>(
        std::strtoul(std::string(message.substr(at + 10)).c_str(), nullptr, 10));
}

template <class Response>
Status fillRun(const Result<agent::RunView>& view, Response* response) {
    RETURN_IF_ERROR(view.status());
    *response->mutable_run() = toProto(*view);
    return okStatus();
}

/// Updates one by one, from changes that come in heaps.
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
        ASSIGN_OR_RETURN(const agent::RunChanges changes, watch_.next());
        for (const agent::RunView& view : changes.runs) {
            v1::RunUpdate update;
            *update.mutable_run() = toProto(view);
            update.set_is_removed(view.record.isDeleted);
            waiting_.push_back(std::move(update));
        }
        if (changes.isSnapshotEnd) {
            waiting_.emplace_back().set_is_snapshot_end(true);
        }
        isEnd_ = changes.isEnd;
        return okStatus();
    }

    agent::RunWatch watch_;
    std::deque<v1::RunUpdate> waiting_;
    bool isEnd_ = false;
};

/// Lines as chunks. The first that has caught up is told even if it is empty: the reader waits for
/// it.
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

/// A stream that ends at once with what was wrong with the request.
template <class Message>
grpc::ServerWriteReactor<Message>* refuse(StreamPump& pump, const Status& status) {
    return openStream<Message>(pump, [status]() -> Result<Produced<Message>> { return status; },
                               {kFollowInterval});
}

}  // namespace

RunsService::RunsService(agent::RunService& runs, ServiceParts parts)
    : runs_(runs),
      parts_(parts),
      news_(runs.live().subscribe([&pump = parts.pump] { pump.tellNews(); })) {}

RunsService::Unary* RunsService::Submit(Context* context, const v1::SubmitRequest* request,
                                        v1::SubmitResponse* response) {
    return answerOn(parts_.slow, context, [this, context, request, response]() -> Status {
        const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
        if (hasLeft()) {
            return cancelled("the client has gone");
        }
        const agent::SubmitOrder order = fromProto(*request);
        ASSIGN_OR_RETURN(const agent::SubmitOutcome outcome, runs_.submit(order, hasLeft));
        fillOutcome(outcome, order.spec.fileName, response);
        return okStatus();
    });
}

RunsService::Unary* RunsService::List(Context* context, const v1::ListRunsRequest* request,
                                      v1::ListRunsResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const agent::RunPageView page, runs_.list(convert::fromProto(*request)));
        for (const agent::RunView& view : page.runs) {
            *response->add_runs() = toProto(view);
        }
        response->set_next_page_token(page.nextPageToken);
        response->set_revision(static_cast<std::uint64_t>(page.changeCursor));
        response->set_total(static_cast<std::uint64_t>(page.total));
        return okStatus();
    });
}

RunsService::Unary* RunsService::Get(Context* context, const v1::GetRunRequest* request,
                                     v1::GetRunResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const agent::RunDetails details, runs_.get(request->run()));
        fillDetails(details, response);
        return okStatus();
    });
}

RunsService::Unary* RunsService::Document(Context* context, const v1::DocumentRequest* request,
                                          v1::DocumentResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        if (request->document() != v1::LARGE_DOCUMENT_PLAN &&
            request->document() != v1::LARGE_DOCUMENT_RECEIPT) {
            return invalidArgument("document ", static_cast<int>(request->document()),
                                   ": this daemon knows plan and receipt");
        }
        const auto which = request->document() == v1::LARGE_DOCUMENT_PLAN
                               ? runs::LargeDocument::kPlan
                               : runs::LargeDocument::kReceipt;
        constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 62;
        ASSIGN_OR_RETURN(
            agent::RunService::Document document,
            runs_.document(request->run(), which,
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
    Result<agent::RunWatch> watch = runs_.watch({request->runs().begin(), request->runs().end()});
    if (!watch.ok()) {
        return refuse<v1::RunUpdate>(parts_.pump, watch.status());
    }
    const std::uint32_t wanted =
        request->interval_ms() == 0 ? kDefaultWatchMs : request->interval_ms();
    auto source = std::make_shared<UpdateSource>(std::move(*watch));
    return openStream<v1::RunUpdate>(
        parts_.pump, [source] { return source->next(); },
        {std::chrono::milliseconds(std::clamp(wanted, kLeastWatchMs, kMostWatchMs)), true});
}

RunsService::Unary* RunsService::MetricRange(Context* context,
                                             const v1::MetricRangeRequest* request,
                                             v1::MetricRangeResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> Status {
        runs::MetricRange range;
        range.fromStep = request->from_step();
        range.toStep = request->to_step() > 0 ? request->to_step() : INT64_MAX;
        range.maxPoints = request->max_points() == 0
                              ? kDefaultPoints
                              : std::clamp(static_cast<int>(request->max_points()), 4, kMostPoints);
        range.rank = request->has_rank() ? request->rank() : values::kNoRank;
        ASSIGN_OR_RETURN(
            const agent::RunService::MetricAnswer answer,
            runs_.metrics(request->run(), {request->names().begin(), request->names().end()}, range,
                          request->with_system()));
        response->set_run_id(answer.runId);
        for (const runs::MetricSeries& series : answer.series) {
            *response->add_series() = convert::toProto(series);
        }
        *response->mutable_cursor() = convert::toProto(answer.cursor);
        return okStatus();
    });
}

grpc::ServerWriteReactor<v1::MetricChunk>* RunsService::WatchMetrics(
    Context*, const v1::WatchMetricsRequest* request) {
    agent::MetricWish wish{{request->names().begin(), request->names().end()},
                           request->from_step(),
                           request->with_system(),
                           request->has_rank() ? request->rank() : values::kNoRank,
                           convert::fromProto(request->after())};
    Result<agent::MetricFollower> follower = runs_.followMetrics(request->run(), std::move(wish));
    if (!follower.ok()) {
        return refuse<v1::MetricChunk>(parts_.pump, follower.status());
    }
    auto source = std::make_shared<ChunkSource>(std::move(*follower));
    return openStream<v1::MetricChunk>(parts_.pump, [source] { return source->next(); },
                                       {kFollowInterval, true});
}

grpc::ServerWriteReactor<v1::LogChunk>* RunsService::Logs(Context*,
                                                          const v1::LogsRequest* request) {
    Result<agent::RunService::RunLog> log = runs_.readLogs(request->run(), fromProto(*request));
    if (!log.ok()) {
        return refuse<v1::LogChunk>(parts_.pump, log.status());
    }
    auto shared = std::make_shared<agent::RunService::RunLog>(std::move(*log));
    return openStream<v1::LogChunk>(
        parts_.pump,
        [this, shared, isFollowing = request->follow()]() -> Result<Produced<v1::LogChunk>> {
            // Asked before reading: what an ended run wrote is all there then.
            const bool isOver = !isFollowing || runs_.hasEnded(shared->runId);
            const agent::LogPage page = shared->reader.next(kChunkItems);
            Produced<v1::LogChunk> produced;
            produced.isEnd = isOver && page.isAtEnd;
            if (!page.lines.empty() || page.droppedLines > 0 || produced.isEnd) {
                produced.message = toProto(page);
                produced.message->set_is_end(produced.isEnd);
            }
            produced.isMoreReady = !page.isAtEnd;
            return produced;
        },
        {kFollowInterval});
}

RunsService::Unary* RunsService::Stop(Context* context, const v1::StopRunRequest* request,
                                      v1::StopRunResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response] {
        const std::uint32_t wanted =
            request->grace_seconds() == 0 ? kDefaultGraceSeconds : request->grace_seconds();
        const std::chrono::seconds grace(std::min<std::uint32_t>(wanted, 3600));
        return fillRun(runs_.stop(request->run(), request->reason(), grace), response);
    });
}

RunsService::Unary* RunsService::Resume(Context* context, const v1::ResumeRunRequest* request,
                                        v1::ResumeRunResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response] {
        return fillRun(runs_.resume(request->run(), request->step()), response);
    });
}

RunsService::Unary* RunsService::Delete(Context* context, const v1::DeleteRunRequest* request,
                                        v1::DeleteRunResponse* response) {
    // Thousands of files go with a purge: reads and small changes do not wait behind it.
    CallPool& pool = request->purge() ? parts_.slow : parts_.quick;
    return answerOn(pool, context, [this, request, response]() -> Status {
        ASSIGN_OR_RETURN(const agent::RunService::Removed removed,
                         runs_.remove(request->run(), request->purge()));
        *response->mutable_run() = toProto(removed.view);
        response->set_freed_bytes(removed.freedBytes);
        response->set_held_bytes(removed.heldBytes);
        response->set_keep_hours(static_cast<std::uint32_t>(removed.keep.count()));
        return okStatus();
    });
}

RunsService::Unary* RunsService::Restore(Context* context, const v1::RestoreRunRequest* request,
                                         v1::RestoreRunResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response] {
        return fillRun(runs_.restore(request->run()), response);
    });
}

RunsService::Unary* RunsService::SetNote(Context* context, const v1::SetNoteRequest* request,
                                         v1::SetNoteResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response] {
        return fillRun(runs_.setNote(request->run(), request->note()), response);
    });
}

RunsService::Unary* RunsService::SetTags(Context* context, const v1::SetTagsRequest* request,
                                         v1::SetTagsResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response] {
        return fillRun(runs_.setTags(request->run(), {request->set().begin(), request->set().end()},
                                     {request->remove().begin(), request->remove().end()}),
                       response);
    });
}

RunsService::Unary* RunsService::ParseFilter(Context* context,
                                             const v1::ParseFilterRequest* request,
                                             v1::ParseFilterResponse* response) {
    const Status status = runs_.checkFilter(
        request->filter(), {request->order_by().begin(), request->order_by().end()});
    response->set_ok(status.ok());
    response->set_message(std::string(messageOf(status)));
    response->set_column(columnOf(messageOf(status)));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
}

}  // namespace millrace::rpc
