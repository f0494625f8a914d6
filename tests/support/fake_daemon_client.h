#pragma once
// A daemon in memory for the tests of the console: a store of runs with revisions, metrics, logs
// and telemetry that tests change while clients look, and the ways in which a daemon can fail.
//
// Tests build with tests/support/fake_daemon_client.cpp. Threads: every function from any thread;
// hooks (on...) are set before clients are made and run on the caller's thread. The daemon must
// outlive its clients. Order and chunks are as the real daemon's: a list of changes has deleted
// runs too, a page is newest first, metrics and logs come in chunks of 1,000.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "tests/support/fake_answers.h"

namespace millrace::client {

class FakeStream;

class FakeDaemon : public FakeAnswers {
 public:
    FakeDaemon();
    ~FakeDaemon();

    /// For DaemonBridge::MakeClient: a client of its own each time.
    std::unique_ptr<DaemonClient> makeClient(const std::string& address = "unix:/fake.sock");

    // The store. Every change of a run gets the next revision and is sent to all watchers.
    void putRun(values::RunSummary run);
    void putDetail(values::RunDetail detail);
    /// `count` finished runs with two metrics and five parameters each: r-00000, r-00001, ...
    void addRuns(int count);
    void removeRun(const std::string& id);
    void restoreRun(const std::string& id);
    void setState(const std::string& id, values::RunState state);
    std::vector<values::RunSummary> runs() const;
    void addPoints(const std::string& run, std::vector<values::RunFigure> points);
    /// A new attempt resumes after `step`: later points are void.
    void beginAttempt(const std::string& run, std::int64_t step);
    void addLines(const std::string& run, std::vector<values::LogLine> lines);
    /// Sends watchers a run of an older revision, as a slow stream might.
    void tellOld(values::RunSummary run);
    void setNodes(std::vector<values::NodeInfo> nodes);
    void sample(values::NodeSample sample);

    // Trouble.
    void goAway();  ///< connections break, nobody answers
    void comeBack();
    void forgetEverything();                            ///< another store, at revision 0
    void fail(const std::string& call, Status status);  ///< "get", "list", ...; OK ends the failure
    void hang(const std::string& call);                 ///< until release() or cancelAll()
    void release(const std::string& call);
    void speakProtocol(std::uint32_t version);

    // Requests.
    int numCalls(const std::string& call) const;
    int numHanging() const;
    int numStreams(const std::string& kind) const;  ///< open ones
    std::vector<values::ListRequest> lists() const;
    /// The lines behind which streams of metrics began.
    std::vector<std::int64_t> metricStarts() const;
    std::vector<values::LogsRequest> logRequests() const;

    /// Whether a run fits a filter; without it all do. The other calls' answers: FakeAnswers.
    std::function<bool(const std::string& filter, const values::RunSummary& run)> onFilter;

 private:
    friend class FakeDaemonClient;
    struct Stream {
        std::weak_ptr<FakeStream> feed;
        std::string kind, run;  // kind: "runs", "metrics", "logs", "telemetry"
    };
    /// Whether a call may be answered; blocks while it hangs.
    Status enter(const std::string& call, const bool& isCancelled, const std::stop_token& stop = {})
        MR_EXCLUDES(mutex_);
    void cancelled(bool& flag) MR_EXCLUDES(mutex_);
    Result<values::RunPage> list(const values::ListRequest& request) MR_EXCLUDES(mutex_);
    Result<values::RunSummary> change(const std::string& id,
                                      const std::function<void(values::RunSummary&)>& what)
        MR_EXCLUDES(mutex_);
    Result<values::RunDetail> detail(const std::string& run) MR_EXCLUDES(mutex_);
    void admitLocked(const std::string& kind, const std::string& run,
                     const std::shared_ptr<FakeStream>& feed) MR_REQUIRES(mutex_);
    std::shared_ptr<FakeStream> openRuns(StreamHandler<values::RunUpdate> handler)
        MR_EXCLUDES(mutex_);
    std::shared_ptr<FakeStream> openMetrics(const std::string& run,
                                            const values::MetricCursor& after,
                                            StreamHandler<values::MetricChunk> handler)
        MR_EXCLUDES(mutex_);
    std::shared_ptr<FakeStream> openLogs(const values::LogsRequest& request,
                                         StreamHandler<values::LogChunk> handler)
        MR_EXCLUDES(mutex_);
    std::shared_ptr<FakeStream> openTelemetry(StreamHandler<values::NodeSample> handler)
        MR_EXCLUDES(mutex_);
    void storeLocked(values::RunSummary run) MR_REQUIRES(mutex_);
    void tellLocked(const std::string& kind, const std::string& run,
                    const std::function<void(FakeStream&)>& what) MR_REQUIRES(mutex_);
    Status reachableLocked() const MR_REQUIRES(mutex_);

    mutable Mutex mutex_;
    CondVar changed_;
    std::map<std::string, values::RunDetail> runs_ MR_GUARDED_BY(mutex_);
    /// A run's lines of metrics, as the store of a daemon numbers them.
    struct Told {
        values::MetricNames names;
        std::vector<values::MetricLine> lines;
        std::int64_t nextLine = 1;
        int attempt = 1;
        std::vector<std::int64_t> resumes;  // of the second attempt and later ones
    };
    std::map<std::string, Told> told_ MR_GUARDED_BY(mutex_);
    std::map<std::string, std::vector<values::LogLine>> lines_ MR_GUARDED_BY(mutex_);
    std::vector<values::NodeInfo> nodes_ MR_GUARDED_BY(mutex_);
    std::vector<Stream> streams_ MR_GUARDED_BY(mutex_);
    std::uint64_t revision_ MR_GUARDED_BY(mutex_) = 0;
    std::map<std::string, Status> failures_ MR_GUARDED_BY(mutex_);
    std::set<std::string> hanging_ MR_GUARDED_BY(mutex_);
    std::map<std::string, int> calls_ MR_GUARDED_BY(mutex_);
    std::vector<values::ListRequest> lists_ MR_GUARDED_BY(mutex_);
    std::vector<std::int64_t> metricStarts_ MR_GUARDED_BY(mutex_);
    std::vector<values::LogsRequest> logRequests_ MR_GUARDED_BY(mutex_);
    int numHanging_ MR_GUARDED_BY(mutex_) = 0;
    bool isAway_ MR_GUARDED_BY(mutex_) = false;
    std::uint32_t protocol_ MR_GUARDED_BY(mutex_) = 1;
};

}  // namespace millrace::client
