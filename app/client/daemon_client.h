#pragma once
// DaemonClient: a daemon as the user interfaces see it. Calls return values, streams call back.
//
// Threads: calls may come from any thread and block until the answer or their deadline
// (proto/convert/rpc_options.h). A stream calls its handler from one named thread of its own, onEnd
// last and exactly once. Owns: a stream belongs to its Subscription, whose destructor cancels the
// stream and joins its thread, so no callback comes afterwards. Never destroy a Subscription inside
// its own callback. Failure: an unreachable daemon is kUnavailable with a sentence that names the
// address; other codes are the daemon's own.
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/daemon_info.h"
#include "backend/values/inspection.h"
#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"
#include "backend/values/rank_count.h"
#include "backend/values/run_list.h"

namespace millrace::client {

class Subscription {
 public:
    virtual ~Subscription() = default;
    /// Asks the stream to end; returns at once.
    virtual void cancel() = 0;
};

template <class T>
struct StreamHandler {
    std::function<void(T)> onItem;
    std::function<void(const Status&)> onEnd;
};

class DaemonClient {
 public:
    virtual ~DaemonClient() = default;
    /// Ends the calls in progress with kCancelled, and refuses new ones; streams end with their
    /// Subscriptions. Permanent: make another client to continue. Returns at once.
    virtual void cancelAll() = 0;
    /// "unix:PATH" or "HOST:PORT".
    virtual std::string address() const = 0;

    /// kFailedPrecondition when the daemon speaks a newer protocol only.
    virtual Result<values::Handshake> handshake() = 0;
    virtual Result<values::DaemonStatus> status() = 0;
    virtual Result<values::DownReport> down(int graceSeconds) = 0;
    /// Checks the run store, which takes minutes if it is large. `isWhole`: its indexes as well.
    virtual Result<values::StoreCheck> checkStore(bool isWhole) = 0;

    virtual Result<values::SubmitReply> submit(const values::SubmitRequest& request) = 0;
    virtual Result<values::RunPage> list(const values::ListRequest& request) = 0;
    /// `run` here and below: id, uid, name, or a unique prefix.
    virtual Result<values::RunDetail> get(const std::string& run) = 0;
    /// The run's plan or whole receipt, canonical JSON; "" when it has none.
    virtual Result<std::string> document(const std::string& run, values::LargeDocument which) = 0;
    virtual Result<values::MetricHistory> metricRange(
        const values::MetricRangeRequest& request) = 0;
    virtual Result<values::RunSummary> stop(const std::string& run, int graceSeconds,
                                            const std::string& reason) = 0;
    /// `step`: of a checkpoint; 0: the last one; -1: from the start, ignoring all checkpoints.
    virtual Result<values::RunSummary> resume(const std::string& run, std::int64_t step,
                                              const values::RankCount& wish) = 0;
    /// Hides a run that has ended; `isForGood`: frees its storage, which cannot be undone.
    virtual Result<values::RemovedRun> remove(const std::string& run, bool isForGood) = 0;
    virtual Result<values::RunSummary> restore(const std::string& run) = 0;
    virtual Result<values::RunSummary> setNote(const std::string& run, const std::string& note) = 0;
    virtual Result<values::RunSummary> setTags(const std::string& run,
                                               const std::map<std::string, std::string>& set,
                                               const std::vector<std::string>& remove) = 0;
    virtual Result<values::FilterCheck> parseFilter(const std::string& filter) = 0;
    virtual Result<std::vector<values::NodeInfo>> nodes() = 0;
    /// Moves the node's work to other nodes and places nothing new there. `isBack` reverts that.
    /// Returns kNotFound for an unknown node.
    virtual Status drain(const std::string& node, bool isBack) = 0;
    /// Returns the text of a join file with which the agent of `node` joins: a secret.
    virtual Result<std::string> invite(const std::string& node) = 0;
    /// Ends the node's agent and its workers and refuses it from then on. kNotFound: never seen.
    virtual Status forget(const std::string& node) = 0;

    virtual Result<values::CheckReply> check(const values::CheckRequest& request) = 0;
    virtual Result<values::DatasetReply> dataset(const values::DatasetRequest& request) = 0;
    virtual Result<values::StepsReply> steps(const values::StepsRequest& request) = 0;
    /// Takes seconds; a stop ends it with kCancelled, at the daemon too.
    virtual Result<values::PreviewReply> preview(const values::PreviewRequest& request,
                                                 std::stop_token stop) = 0;
    /// Compares evaluations row by row, which the daemon reads.
    virtual Result<values::PairReply> pair(const values::PairRequest& request) = 0;

    /// Without ids: all active runs and new ones.
    virtual std::unique_ptr<Subscription> watchRuns(const std::vector<std::string>& runs,
                                                    StreamHandler<values::RunUpdate> handler) = 0;
    virtual std::unique_ptr<Subscription> watchMetrics(
        const values::MetricsRequest& request, StreamHandler<values::MetricChunk> handler) = 0;
    virtual std::unique_ptr<Subscription> logs(const values::LogsRequest& request,
                                               StreamHandler<values::LogChunk> handler) = 0;
    virtual std::unique_ptr<Subscription> watchTelemetry(
        const std::string& node, StreamHandler<values::NodeSample> handler) = 0;
};

}  // namespace millrace::client
