#pragma once
// DaemonBridge: the only connection between the GUI and a daemon. Requests return at once, live
// data arrives in batches.
//
// Threads: the GUI thread only, for every function, signal and callback here. Inside: a few request
// threads and one thread per stream, all joined in the destructor. Live data comes in at most 20
// deliveries a second for all streams together; only the newest value of an object is delivered,
// points and lines are batched. Owns: its client and its threads. Failure: a request's Status has
// the daemon's sentence; a lost connection is a Link (session/link.h) and is retried forever;
// streams then resume where they were. Bounded: when the GUI thread is behind, streams wait; log
// lines above a limit are counted and left out.
#include <QObject>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "app/gui/bridge/live_values.h"
#include "app/session/host_book.h"
#include "app/session/link.h"

namespace millrace::gui {

/// A subscription to live data; after its destruction nothing is delivered any more.
class Following {
 public:
    virtual ~Following() = default;
};

class DaemonBridge final : public QObject {
    Q_OBJECT

 public:
    using MakeClient =
        std::function<std::unique_ptr<client::DaemonClient>(const std::string& address)>;
    /// Called on the GUI thread, and not after `context` was destroyed.
    template <class T>
    using Done = std::function<void(Result<T>)>;

    /// Hooks for a daemon on another host. Called on request threads; may block.
    struct Elsewhere {
        /// Maps `baseDir` of this machine to a directory there.
        std::function<Result<std::string>(const std::string& address, const std::string& baseDir)>
            baseDir;
        /// Sets base directory and launch place of a submission.
        std::function<Status(const std::string& address, values::SubmitRequest& request)> complete;
        bool isFor(const std::string& address) const;
    };

    explicit DaemonBridge(MakeClient makeClient, QObject* parent = nullptr)
        : DaemonBridge(std::move(makeClient), {}, parent) {}
    DaemonBridge(MakeClient makeClient, Elsewhere elsewhere, QObject* parent = nullptr);
    ~DaemonBridge() override;

    /// Leaves the current daemon, if any: its followings end, its requests are not answered any
    /// more. "unix:PATH" or "HOST:PORT". Emits switched() and linkChanged() before it returns.
    void connectTo(const std::string& address);
    /// Retries now instead of after the pause.
    void retryNow();
    const std::string& address() const;
    const session::Link& link() const;
    /// Empty until the first handshake.
    const values::Handshake& handshake() const;
    const std::vector<values::NodeInfo>& nodes() const;
    /// Updates that were left out, since the start.
    std::uint64_t droppedUpdates() const;
    /// Deliveries of live data, since the start.
    std::uint64_t numDeliveries() const;
    /// No request is pending and the first list of runs has been delivered.
    bool isSettled() const;

    // Requests. `slot`, if given: a newer request with the same context and slot cancels the answer
    // of an older one. `run`: an id.
    void get(const std::string& run, QObject* context, Done<values::RunDetail> done,
             const std::string& slot = "");
    void metricRange(values::MetricRangeRequest request, QObject* context,
                     Done<values::MetricHistory> done, const std::string& slot = "");
    void list(values::ListRequest request, QObject* context, Done<values::RunPage> done,
              const std::string& slot = "");
    void parseFilter(const std::string& filter, QObject* context, Done<values::FilterCheck> done,
                     const std::string& slot = "");
    void check(values::CheckRequest request, QObject* context, Done<values::CheckReply> done,
               const std::string& slot = "");
    void dataset(values::DatasetRequest request, QObject* context, Done<values::DatasetReply> done,
                 const std::string& slot = "");
    void steps(values::StepsRequest request, QObject* context, Done<values::StepsReply> done,
               const std::string& slot = "");
    /// Takes seconds. Destroying the Following cancels it, at the daemon too, and `done` is then
    /// not called.
    [[nodiscard]] std::unique_ptr<Following> preview(values::PreviewRequest request,
                                                     QObject* context,
                                                     Done<values::PreviewReply> done);
    /// Takes seconds if the evaluations are large.
    void pair(values::PairRequest request, QObject* context, Done<values::PairReply> done,
              const std::string& slot = "");
    /// Adds owner, git facts of baseDir and a key, then submits surely (session/submission.h).
    void submit(values::SubmitRequest request, QObject* context, Done<values::SubmitReply> done);
    /// The same for a request whose directory and launch place are on the daemon's machine already:
    /// repeats a run.
    void submitAgain(values::SubmitRequest request, QObject* context,
                     Done<values::SubmitReply> done);
    void stop(const std::string& run, QObject* context, Done<values::RunSummary> done);
    void resume(const std::string& run, std::int64_t step, QObject* context,
                Done<values::RunSummary> done);
    void remove(const std::string& run, QObject* context, Done<values::RunSummary> done);
    void restore(const std::string& run, QObject* context, Done<values::RunSummary> done);
    void setNote(const std::string& run, const std::string& note, QObject* context,
                 Done<values::RunSummary> done);
    struct HostNames {
        std::vector<session::NamedHost> named;
        std::vector<std::string> aliases;  ///< from ~/.ssh/config
    };
    /// The hosts that the user has named, here and for ssh. Works without a daemon, as does the
    /// next.
    void readHosts(QObject* context, Done<HostNames> done);
    /// The text of a file of this machine, at most 8 MiB, read off the GUI thread. Works without a
    /// daemon, as does the next.
    void readSpecFile(const std::string& path, QObject* context, Done<std::string> done);
    /// Writes to a temporary file and renames it; answers with the path.
    void writeTextFile(const std::string& path, std::string text, QObject* context,
                       Done<std::string> done);

    // Live data, beside the signals below.
    using OnMetrics = std::function<void(const std::string& run, const MetricsDelta&)>;
    /// Lines after `after`, "system.*" too: metricRange() has read all earlier ones.
    [[nodiscard]] std::unique_ptr<Following> followMetrics(std::vector<std::string> runs,
                                                           OnMetrics onMetrics,
                                                           MetricCursors after = {});
    using OnLogs = std::function<void(const LogsDelta&)>;
    [[nodiscard]] std::unique_ptr<Following> followLogs(const std::string& run, int tailLines,
                                                        OnLogs onLogs);

 Q_SIGNALS:
    /// The user wants a daemon retried now.
    void retryAsked(const std::string& address);
    /// Connected to another daemon: forget all data of the previous one.
    void switched();
    void linkChanged(const millrace::session::Link& link);
    void runsChanged(const millrace::gui::RunsDelta& delta);
    /// The fixed facts of the nodes have been read.
    void nodesChanged();
    /// The newest sample of a node, about once a second.
    void nodeSampled(const millrace::values::NodeSample& sample);

 private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::gui
