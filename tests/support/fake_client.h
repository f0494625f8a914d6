#pragma once
// The fake of DaemonClient: it answers from fields and hooks, and streams from scripts. Tests of
// session, tui and cli use it directly; fake_daemon_client.h adds a store.
//
// Threads: as DaemonClient; set the answers up before use, later changes only through methods.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "tests/support/fake_answers.h"

namespace millrace::client {

/// A client of a fake daemon. A fake with a store (fake_daemon_client.h) overrides some answers and
/// inherits all others, so that a new call needs one fake.
class FakeClient : public DaemonClient {
 public:
    explicit FakeClient(FakeAnswers& answers) : answers_(answers) {}

    void cancelAll() override {}
    std::string address() const override { return "unix:/fake.sock"; }
    Result<values::Handshake> handshake() override {
        RETURN_IF_ERROR(answers_.reachable);
        return values::Handshake{"0.1.0", 1, 0};
    }
    Result<values::DaemonStatus> status() override {
        RETURN_IF_ERROR(enter("status"));
        RETURN_IF_ERROR(answers_.reachable);
        values::DaemonStatus status;
        status.warnings = answers_.warnings;
        status.version = "0.1.0";
        status.stateDir = answers_.stateDir;
        status.configFile = "/var/millrace/millraced.yaml";
        status.isClosed = answers_.isClosed;
        status.address = address();
        status.pid = 42;
        return status;
    }
    Result<values::DownReport> down(int) override {
        RETURN_IF_ERROR(enter("down"));
        RETURN_IF_ERROR(answers_.reachable);
        answers_.reachable = unavailable("no daemon answers");
        return values::DownReport{2, 4, 1, answers_.runsLeft};
    }
    Result<values::StoreCheck> checkStore(bool isWhole) override {
        RETURN_IF_ERROR(enter("checkStore"));
        RETURN_IF_ERROR(answers_.reachable);
        answers_.isWholeChecked = isWhole;
        return answers_.storeCheck;
    }
    Result<values::SubmitReply> submit(const values::SubmitRequest& request) override {
        RETURN_IF_ERROR(enter("submit"));
        answers_.note(answers_.submits, request);
        if (answers_.submitsLost > 0) {
            --answers_.submitsLost;
            return unavailable("connection lost");
        }
        return answer(answers_.onSubmit, request, answers_.submitReply);
    }
    Result<values::RunPage> list(const values::ListRequest& request) override {
        answers_.note(answers_.lists, request);
        RETURN_IF_ERROR(answers_.listStatus);
        values::RunPage page;
        page.total = static_cast<std::int64_t>(answers_.runs.size());
        for (const values::RunDetail& run : answers_.runs) {
            if (static_cast<int>(page.runs.size()) == request.pageSize) {
                page.nextPageToken = "more";
                break;
            }
            page.runs.push_back(run.summary);
        }
        return page;
    }
    Result<values::RunDetail> get(const std::string& run) override {
        for (const values::RunDetail& detail : answers_.runs) {
            if (detail.summary.id == run || detail.summary.uid == run) {
                return detail;
            }
        }
        return notFound("no run '", run, "'");
    }
    Result<std::string> document(const std::string& run, values::LargeDocument which) override {
        RETURN_IF_ERROR(enter("document"));
        RETURN_IF_ERROR(get(run).status());
        return which == values::LargeDocument::kPlan ? answers_.plan : answers_.wholeReceipt;
    }
    Result<values::MetricHistory> metricRange(const values::MetricRangeRequest& request) override {
        RETURN_IF_ERROR(enter("metricRange"));
        answers_.note(answers_.ranges, request);
        return answer(answers_.onMetricRange, request, answers_.history);
    }
    Result<values::RunSummary> stop(const std::string& run, int, const std::string&) override {
        return change(run, [](values::RunSummary& r) { r.state = values::RunState::kStopping; });
    }
    Result<values::RunSummary> resume(const std::string& run, std::int64_t step,
                                      const values::RankCount&) override {
        answers_.note(answers_.resumes, step);
        ASSIGN_OR_RETURN(const values::RunDetail detail, get(run));
        if (step == 0 && detail.checkpoints.empty()) {
            return failedPrecondition(run, " has no checkpoint; --from-start begins again");
        }
        return change(run, [](values::RunSummary& r) { r.state = values::RunState::kQueued; });
    }
    Result<values::RemovedRun> remove(const std::string& run, bool isForGood) override {
        constexpr std::uint64_t kFileBytes = 1'200'000'000;
        ASSIGN_OR_RETURN(values::RunDetail detail, get(run));
        if (!isEnded(detail.summary.state)) {
            return failedPrecondition(run, " is running; 'millrace stop' ends it first");
        }
        answers_.numPurges += isForGood ? 1 : 0;
        detail.summary.purgedMs = isForGood && answers_.knowsPurge ? 1'700'000'000'000 : 0;
        return isForGood ? values::RemovedRun{detail.summary, kFileBytes, 0, 30 * 24}
                         : values::RemovedRun{detail.summary, 0, kFileBytes, 30 * 24};
    }
    Result<values::RunSummary> restore(const std::string& run) override {
        RETURN_IF_ERROR(enter("restore"));
        return change(run, [](values::RunSummary& r) { r.deletedMs = 0; });
    }
    Result<values::RunSummary> setNote(const std::string& run, const std::string& note) override {
        RETURN_IF_ERROR(enter("setNote"));
        return change(run, [&](values::RunSummary& r) { r.note = note; });
    }
    Result<values::RunSummary> setTags(const std::string& run,
                                       const std::map<std::string, std::string>& set,
                                       const std::vector<std::string>& remove) override {
        RETURN_IF_ERROR(enter("setTags"));
        return change(run, [&](values::RunSummary& r) {
            for (const auto& [key, value] : set) {
                r.tags[key] = value;
            }
            for (const std::string& key : remove) {
                r.tags.erase(key);
            }
        });
    }
    Result<values::FilterCheck> parseFilter(const std::string& filter) override {
        RETURN_IF_ERROR(enter("parseFilter"));
        return answer(answers_.onParseFilter, filter, answers_.filterCheck);
    }
    Result<values::CheckReply> check(const values::CheckRequest& request) override {
        RETURN_IF_ERROR(enter("check"));
        return answer(answers_.onCheck, request, answers_.checkReply);
    }
    Result<values::DatasetReply> dataset(const values::DatasetRequest& request) override {
        RETURN_IF_ERROR(enter("dataset"));
        return answer(answers_.onDataset, request, answers_.datasetReply);
    }
    Result<values::StepsReply> steps(const values::StepsRequest& request) override {
        RETURN_IF_ERROR(enter("steps"));
        return answer(answers_.onSteps, request, answers_.stepsReply);
    }
    Result<values::PreviewReply> preview(const values::PreviewRequest& request,
                                         std::stop_token stop) override {
        RETURN_IF_ERROR(enter("preview", stop));
        return answer(answers_.onPreview, request, values::PreviewReply{});
    }
    Result<values::PairReply> pair(const values::PairRequest& request) override {
        RETURN_IF_ERROR(enter("pair"));
        return answer(answers_.onPair, request, values::PairReply{});
    }
    Result<std::vector<values::NodeInfo>> nodes() override { return answers_.nodeInfos; }
    Status drain(const std::string&, bool) override { return okStatus(); }
    Result<std::string> invite(const std::string& name) override {
        if (answers_.doInvitedCome) {
            answers_.nodeInfos.emplace_back().name = name;
        }
        return std::string("join file\n");
    }
    Status forget(const std::string&) override { return okStatus(); }

    std::unique_ptr<Subscription> watchRuns(const std::vector<std::string>&,
                                            StreamHandler<values::RunUpdate> handler) override {
        return answers_.play(answers_.runScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> watchMetrics(
        const values::MetricsRequest& request,
        StreamHandler<values::MetricChunk> handler) override {
        answers_.note(answers_.metricStarts_, request.after.line);
        return answers_.play(answers_.metricScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> logs(const values::LogsRequest& request,
                                       StreamHandler<values::LogChunk> handler) override {
        answers_.note(answers_.logRequests_, request);
        return answers_.play(answers_.logScripts, std::move(handler));
    }
    std::unique_ptr<Subscription> watchTelemetry(
        const std::string&, StreamHandler<values::NodeSample> handler) override {
        return answers_.play(answers_.sampleScripts, std::move(handler));
    }

 protected:
    /// Whether a call may be answered.
    virtual Status enter(const std::string& call, const std::stop_token& stop = {}) {
        static_cast<void>(call);
        static_cast<void>(stop);
        return okStatus();
    }
    /// Changes a run and returns it; only a fake with a store keeps the change.
    virtual Result<values::RunSummary> change(
        const std::string& run, const std::function<void(values::RunSummary&)>& what) {
        ASSIGN_OR_RETURN(values::RunDetail detail, get(run));
        what(detail.summary);
        return detail.summary;
    }

 private:
    template <class Reply, class Request>
    static Result<Reply> answer(const std::function<Result<Reply>(const Request&)>& hook,
                                const Request& request, const Reply& otherwise) {
        return hook ? hook(request) : Result<Reply>(otherwise);
    }

    FakeAnswers& answers_;
};

}  // namespace millrace::client
