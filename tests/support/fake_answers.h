#pragma once
// The answers of a fake daemon and a record of its requests; fake_client.h uses it.
//
// Threads: streams and calls from any thread; set the fields before you make clients.
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "tests/support/sample_runs.h"
#include "tests/support/scripted_stream.h"

namespace millrace::client {

/// Answers that a test sets, and requests that it reads. A hook (on...) that is set replaces the
/// value of the same name. Set it up before you make clients; it outlives them.
class FakeAnswers {
 public:
    using RunScript = ScriptedStream<values::RunUpdate>::Script;
    using MetricScript = ScriptedStream<values::MetricChunk>::Script;
    using LogScript = ScriptedStream<values::LogChunk>::Script;
    using SampleScript = ScriptedStream<values::NodeSample>::Script;

    Status reachable, listStatus;
    bool knowsPurge = true;  ///< false: an older daemon, which only hides a deleted run
    int numPurges = 0;
    values::StoreCheck storeCheck{{}, "/state/runs.sqlite", 4096, 3, 0.25};
    bool isWholeChecked = false;
    int runsLeft = 0;  ///< of down()
    std::string plan, wholeReceipt;
    std::vector<std::string> warnings;  ///< of the daemon
    bool isClosed = false;              ///< its status: runs train on other nodes only
    std::string stateDir = "/var/millrace";
    bool doInvitedCome = false;  ///< an invited machine is a node at once
    values::SubmitReply submitReply;
    int submitsLost = 0;
    std::vector<values::RunDetail> runs;
    values::MetricHistory history;
    std::vector<values::NodeInfo> nodeInfos;
    std::deque<RunScript> runScripts;  ///< one per stream opened; later streams stay open
    std::deque<MetricScript> metricScripts;
    std::deque<LogScript> logScripts;
    std::deque<SampleScript> sampleScripts;
    std::vector<values::SubmitRequest> submits;
    values::FilterCheck filterCheck{true, "", 0};
    values::CheckReply checkReply;
    values::DatasetReply datasetReply;
    values::StepsReply stepsReply;
    std::vector<values::ListRequest> lists;
    std::vector<values::MetricRangeRequest> ranges;
    std::vector<std::int64_t> resumes;  ///< steps that were asked for

    std::function<Result<values::MetricHistory>(const values::MetricRangeRequest&)> onMetricRange;
    std::function<Result<values::FilterCheck>(const std::string&)> onParseFilter;
    std::function<Result<values::CheckReply>(const values::CheckRequest&)> onCheck;
    std::function<Result<values::DatasetReply>(const values::DatasetRequest&)> onDataset;
    std::function<Result<values::StepsReply>(const values::StepsRequest&)> onSteps;
    /// A stop ends a preview that hangs.
    std::function<Result<values::PreviewReply>(const values::PreviewRequest&)> onPreview;
    std::function<Result<values::PairReply>(const values::PairRequest&)> onPair;
    std::function<Result<values::SubmitReply>(const values::SubmitRequest&)> onSubmit;

    std::vector<std::int64_t> metricStarts() {
        MutexLock lock(mutex_);
        return metricStarts_;
    }
    std::vector<values::LogsRequest> logRequests() {
        MutexLock lock(mutex_);
        return logRequests_;
    }

    /// `ranges`, while other threads may still ask.
    std::vector<values::MetricRangeRequest> rangesSoFar() {
        MutexLock lock(mutex_);
        return ranges;
    }

 private:
    friend class FakeClient;
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

    template <class T>
    void note(std::vector<T>& all, const T& one) {
        MutexLock lock(mutex_);
        all.push_back(one);
    }

    Mutex mutex_;
    std::vector<std::int64_t> metricStarts_;  // guarded by mutex_, like the next
    std::vector<values::LogsRequest> logRequests_;
};

}  // namespace millrace::client
