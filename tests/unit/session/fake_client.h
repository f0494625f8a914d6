#pragma once
// A daemon in memory for the tests of session, tui and cli: answers from its fields, streams from
// scripts. Threads: as DaemonClient; set it up before use, later changes only through its methods.
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "tests/unit/session/sample_runs.h"
#include "tests/unit/session/scripted_stream.h"

namespace millrace::client {

class FakeClient final : public DaemonClient {
 public:
    using RunScript = ScriptedStream<RunUpdate>::Script;
    using MetricScript = ScriptedStream<MetricChunk>::Script;
    using LogScript = ScriptedStream<LogChunk>::Script;
    using SampleScript = ScriptedStream<NodeSample>::Script;

    void cancelAll() override {}
    std::string address() const override { return "unix:/fake.sock"; }
    Result<Handshake> handshake() override {
        RETURN_IF_ERROR(reachable);
        return Handshake{"0.1.0", 1, {}, 0};
    }
    Result<DaemonStatus> status() override {
        RETURN_IF_ERROR(reachable);
        DaemonStatus status;
        status.warnings = warnings;
        status.version = "0.1.0";
        status.address = address();
        status.pid = 42;
        return status;
    }
    Result<DownReport> down(int) override {
        RETURN_IF_ERROR(reachable);
        reachable = unavailable("no daemon answers");
        return DownReport{2, 4, 1, runsLeft};
    }
    Result<StoreCheck> checkStore(bool isWhole) override {
        RETURN_IF_ERROR(reachable);
        isWholeChecked = isWhole;
        return storeCheck;
    }
    Result<SubmitReply> submit(const SubmitRequest& request) override {
        submits.push_back(request);
        if (submitsLost > 0) {
            --submitsLost;
            return unavailable("connection lost");
        }
        return submitReply;
    }
    Result<RunPage> list(const ListRequest& request) override {
        lists.push_back(request);
        RETURN_IF_ERROR(listStatus);
        RunPage page;
        page.total = static_cast<std::int64_t>(runs.size());
        for (const RunDetail& run : runs) {
            if (static_cast<int>(page.runs.size()) == request.pageSize) {
                page.nextPageToken = "more";
                break;
            }
            page.runs.push_back(run.summary);
        }
        return page;
    }
    Result<RunDetail> get(const std::string& run) override {
        for (const RunDetail& detail : runs) {
            if (detail.summary.id == run || detail.summary.uid == run) {
                return detail;
            }
        }
        return notFound("no run '", run, "'");
    }
    Result<std::string> document(const std::string& run, LargeDocument which) override {
        RETURN_IF_ERROR(get(run).status());
        return which == LargeDocument::kPlan ? plan : wholeReceipt;
    }
    Result<std::vector<MetricSeries>> metricRange(const MetricRangeRequest& request) override {
        ranges.push_back(request);
        return onMetricRange ? onMetricRange(request) : Result<std::vector<MetricSeries>>(series);
    }
    Result<RunSummary> stop(const std::string& run, int, const std::string&) override {
        return changed(run, RunState::kStopping);
    }
    Result<RunSummary> resume(const std::string& run, std::int64_t step) override {
        resumes.push_back(step);
        ASSIGN_OR_RETURN(const RunDetail detail, get(run));
        if (step == 0 && detail.checkpoints.empty()) {
            return failedPrecondition(run, " has no checkpoint; --from-start begins again");
        }
        return changed(run, RunState::kQueued);
    }
    Result<RemovedRun> remove(const std::string& run, bool isForGood) override {
        constexpr std::uint64_t kFileBytes = 1'200'000'000;
        ASSIGN_OR_RETURN(RunDetail detail, get(run));
        if (!isEnded(detail.summary.state)) {
            return failedPrecondition(run, " is running; 'millrace stop' ends it first");
        }
        detail.summary.purgedMs = isForGood && knowsPurge ? 1'700'000'000'000 : 0;
        return isForGood ? RemovedRun{detail.summary, kFileBytes, 0, 30 * 24}
                         : RemovedRun{detail.summary, 0, kFileBytes, 30 * 24};
    }
    Result<RunSummary> restore(const std::string& run) override {
        ASSIGN_OR_RETURN(const RunDetail detail, get(run));
        return detail.summary;
    }
    Result<RunSummary> setNote(const std::string& run, const std::string& note) override {
        ASSIGN_OR_RETURN(RunDetail detail, get(run));
        detail.summary.note = note;
        return detail.summary;
    }
    Result<RunSummary> setTags(const std::string& run,
                               const std::map<std::string, std::string>& set,
                               const std::vector<std::string>& remove) override {
        ASSIGN_OR_RETURN(RunDetail detail, get(run));
        for (const auto& [key, value] : set) {
            detail.summary.tags[key] = value;
        }
        for (const std::string& key : remove) {
            detail.summary.tags.erase(key);
        }
        return detail.summary;
    }
    Result<FilterCheck> parseFilter(const std::string&) override { return filterCheck; }
    Result<CheckReply> check(const CheckRequest&) override { return checkReply; }
    Result<DatasetReply> dataset(const DatasetRequest&) override { return datasetReply; }
    Result<StepsReply> steps(const StepsRequest&) override { return stepsReply; }
    Result<PreviewReply> preview(const PreviewRequest&, std::stop_token) override {
        return PreviewReply{};
    }
    Result<std::vector<NodeInfo>> nodes() override { return nodeInfos; }

    std::unique_ptr<Subscription> watchRuns(const std::vector<std::string>&,
                                            StreamHandler<RunUpdate> handler) override {
        return play(runScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> watchMetrics(const MetricsRequest& request,
                                               StreamHandler<MetricChunk> handler) override {
        {
            MutexLock lock(mutex_);
            metricStarts_.push_back(request.after.line);
        }
        return play(metricScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> logs(const LogsRequest& request,
                                       StreamHandler<LogChunk> handler) override {
        {
            MutexLock lock(mutex_);
            logRequests_.push_back(request);
        }
        return play(logScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> watchTelemetry(const std::string&,
                                                 StreamHandler<NodeSample> handler) override {
        return play(sampleScripts, std::move(handler));
    }

    /// The lines behind which streams of metrics began.
    std::vector<std::int64_t> metricStarts() {
        MutexLock lock(mutex_);
        return metricStarts_;
    }
    std::vector<LogsRequest> logRequests() {
        MutexLock lock(mutex_);
        return logRequests_;
    }

    Status reachable, listStatus;
    bool knowsPurge = true;  ///< false: a daemon of before that hides a run and says no more
    StoreCheck storeCheck{{}, "/state/runs.sqlite", 4096, 3, 0.25};
    bool isWholeChecked = false;
    int runsLeft = 0;  ///< of down()
    std::string plan, wholeReceipt;
    std::vector<std::string> warnings;  ///< of the daemon
    SubmitReply submitReply;
    int submitsLost = 0;
    std::vector<RunDetail> runs;
    std::vector<MetricSeries> series;
    /// In the place of `series`, where it is set.
    std::function<Result<std::vector<MetricSeries>>(const MetricRangeRequest&)> onMetricRange;
    std::vector<NodeInfo> nodeInfos;
    std::deque<RunScript> runScripts;  ///< one an opening; afterwards streams that stay open
    std::deque<MetricScript> metricScripts;
    std::deque<LogScript> logScripts;
    std::deque<SampleScript> sampleScripts;
    std::vector<SubmitRequest> submits;
    FilterCheck filterCheck{true, "", 0};
    CheckReply checkReply;
    DatasetReply datasetReply;
    StepsReply stepsReply;
    std::vector<ListRequest> lists;
    std::vector<MetricRangeRequest> ranges;
    std::vector<std::int64_t> resumes;  ///< steps that were asked for

 private:
    Result<RunSummary> changed(const std::string& run, RunState state) {
        ASSIGN_OR_RETURN(RunDetail detail, get(run));
        detail.summary.state = state;
        return detail.summary;
    }
    template <class Scripts, class T>
    std::unique_ptr<Subscription> play(Scripts& scripts, StreamHandler<T> handler) {
        typename ScriptedStream<T>::Script script;
        script.staysOpen = true;
        {
            MutexLock lock(mutex_);
            if (!scripts.empty()) {
                script = scripts.front();
                scripts.pop_front();
            }
        }
        return std::make_unique<ScriptedStream<T>>(std::move(script), std::move(handler));
    }
    Mutex mutex_;
    std::vector<std::int64_t> metricStarts_ MR_GUARDED_BY(mutex_);
    std::vector<LogsRequest> logRequests_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::client
