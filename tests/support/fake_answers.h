#pragma once
// What a fake daemon answers and what it was asked (fake_client.h asks it), as fields of a test.
//
// Threads: streams and calls from any; fields are set before clients are made.
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "tests/support/sample_runs.h"
#include "tests/support/scripted_stream.h"

namespace millrace::client {

/// What a daemon shall answer, and what it was asked. A hook (on...), where it is set, answers in
/// the place of the value beside it. Set it up before clients are made; it outlives them.
class FakeAnswers {
 public:
    using RunScript = ScriptedStream<values::RunUpdate>::Script;
    using MetricScript = ScriptedStream<values::MetricChunk>::Script;
    using LogScript = ScriptedStream<values::LogChunk>::Script;
    using SampleScript = ScriptedStream<values::NodeSample>::Script;

    Status reachable, listStatus;
    bool knowsPurge = true;  ///< false: a daemon of before that hides a run and says no more
    int numPurges = 0;
    values::StoreCheck storeCheck{{}, "/state/runs.sqlite", 4096, 3, 0.25};
    bool isWholeChecked = false;
    int runsLeft = 0;  ///< of down()
    std::string plan, wholeReceipt;
    std::vector<std::string> warnings;  ///< of the daemon
    bool isClosed = false;              ///< its status: runs train on other nodes only
    std::string stateDir = "/var/millrace";
    bool doInvitedCome = false;  ///< whoever is invited is a node at once
    values::SubmitReply submitReply;
    int submitsLost = 0;
    std::vector<values::RunDetail> runs;
    values::MetricHistory history;
    std::vector<values::NodeInfo> nodeInfos;
    std::deque<RunScript> runScripts;  ///< one an opening; afterwards streams that stay open
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
    /// A stop ends one that hangs.
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
    std::vector<std::int64_t> metricStarts_;  // guarded by mutex_, as the next
    std::vector<values::LogsRequest> logRequests_;
};

}  // namespace millrace::client
