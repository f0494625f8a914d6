#include "app/gui/bridge/daemon_bridge.h"

#include <QPointer>
#include <cstdlib>
#include <functional>
#include <stop_token>
#include <utility>

#include "app/gui/bridge/daemon_link.h"
#include "app/gui/bridge/delivery_clock.h"
#include "app/gui/bridge/live_followings.h"
#include "app/gui/bridge/mailbox.h"
#include "app/gui/bridge/requests.h"
#include "app/session/submission.h"
#include "app/ssh/config_hosts.h"
#include "backend/filesystem/files.h"

namespace millrace::gui {
namespace {

using Client = client::DaemonClient;

/// Everything that belongs to one daemon. Members are destroyed in reverse order, after all their
/// waits have been released.
struct Connection {
    Connection(std::shared_ptr<client::DaemonClient> to, std::function<void()> wake)
        : client(std::move(to)),
          mailbox(std::move(wake)),
          followings(*client, mailbox),
          link(*client, mailbox) {}
    ~Connection() {
        mailbox.shut();
        client->cancelAll();
    }
    const std::shared_ptr<client::DaemonClient> client;  // pending requests hold it too
    Mailbox mailbox;
    LiveFollowings followings;
    DaemonLink link;
};

class LiveFollowing final : public Following {
 public:
    LiveFollowing(std::weak_ptr<Connection> connection, std::uint64_t id)
        : connection_(std::move(connection)), id_(id) {}
    ~LiveFollowing() override {
        if (const auto connection = connection_.lock()) {
            connection->followings.end(id_);
        }
    }

 private:
    const std::weak_ptr<Connection> connection_;
    const std::uint64_t id_;
};

template <class Request>
std::vector<std::string*> baseDirectories(Request& request) {
    return {&request.spec.baseDir};
}
std::vector<std::string*> baseDirectories(values::DatasetRequest& request) {
    return {&request.baseDir, &request.spec.baseDir};
}

/// A request that is cancelled when this Following is destroyed.
class PendingCall final : public Following {
 public:
    ~PendingCall() override { source_.request_stop(); }
    std::stop_token token() const { return source_.get_token(); }

 private:
    std::stop_source source_;
};

}  // namespace

class DaemonBridge::Parts {
 public:
    Parts(DaemonBridge* bridge, MakeClient makeClient, Elsewhere elsewhere)
        : bridge_(bridge),
          makeClient_(std::move(makeClient)),
          elsewhere_(std::move(elsewhere)),
          clock_([this] { deliver(); }) {}
    ~Parts() { leave(); }

    void connectTo(const std::string& address);
    void leave();
    void deliver();
    bool isSettled() const { return requests_.isEmpty() && isListDelivered_; }
    std::uint64_t numDropped() const {
        return numDropped_ + (connection_ ? connection_->mailbox.numDropped() : 0);
    }

    template <class T>
    struct Question {
        QObject* context;
        std::string slot;
        bool isSlow;
        Done<T> done;
    };
    /// Runs `call` on a thread of the pool.
    template <class T, class Call>
    void ask(Question<T> question, Call call);
    /// Calls the client's `method` with `arguments`.
    template <class T, class... P, class... A>
    void askFor(Question<T> question, Result<T> (Client::*method)(P...), A... arguments) {
        ask(std::move(question), [method, ... arguments = std::move(arguments)](Client& to) {
            return (to.*method)(arguments...);
        });
    }
    template <class T, class Work>
    void work(Question<T> question, bool isOfDaemon, Work work);
    /// Runs `call` with a request whose base directory was mapped to the daemon's machine.
    template <class T, class Request, class Call>
    void askAbout(Question<T> question, Request request, Call call);

    DaemonBridge* const bridge_;
    const MakeClient makeClient_;
    const Elsewhere elsewhere_;
    DeliveryClock clock_;
    std::string address_;
    session::Link link_;
    DaemonInfo facts_;
    std::shared_ptr<Connection> connection_;
    Requests requests_;
    std::uint64_t numDropped_ = 0;  // in earlier connections
    bool isListDelivered_ = false;
};

void DaemonBridge::Parts::leave() {
    isListDelivered_ = false;
    if (connection_ != nullptr) {
        numDropped_ += connection_->mailbox.numDropped();
        connection_.reset();
    }
    requests_.dropDaemon();
}

void DaemonBridge::Parts::connectTo(const std::string& address) {
    leave();
    address_ = address;
    facts_ = {};
    link_ = {};
    link_.sinceMs = SystemClock().wallMs();
    std::shared_ptr<client::DaemonClient> client = makeClient_(address);
    if (client == nullptr) {
        link_.state = session::LinkState::kRefused;
        link_.sentence = strCat("'", address, "' is not an address: unix:PATH or HOST:PORT");
    } else {
        connection_ = std::make_shared<Connection>(client, [this] { clock_.wake(); });
    }
    const QPointer<DaemonBridge> self(bridge_);
    Q_EMIT bridge_->switched();
    if (self != nullptr && address_ == address) {
        Q_EMIT bridge_->linkChanged(link_);
    }
}

// A callback may connect to another daemon or destroy everything: the rest is then dropped.
void DaemonBridge::Parts::deliver() {
    const std::weak_ptr<Connection> current = connection_;
    if (connection_ == nullptr) {
        return;
    }
    Parcel parcel = connection_->mailbox.take();
    const auto isVoid = [&current] { return current.expired(); };
    if (parcel.facts) {
        facts_ = *std::move(parcel.facts);
    }
    if (parcel.link) {
        link_ = *std::move(parcel.link);
        if (link_.state == session::LinkState::kConnected) {
            connection_->followings.retryNow();
        }
        Q_EMIT bridge_->linkChanged(link_);
    }
    if (!isVoid() && parcel.facts) {
        Q_EMIT bridge_->nodesChanged();
    }
    if (!isVoid() && parcel.runs) {
        isListDelivered_ = isListDelivered_ || parcel.runs->isComplete;
        Q_EMIT bridge_->runsChanged(*parcel.runs);
    }
    for (std::size_t i = 0; !isVoid() && i < parcel.samples.size(); ++i) {
        Q_EMIT bridge_->nodeSampled(parcel.samples[i]);
    }
    for (std::size_t i = 0; !isVoid() && i < parcel.live.size(); ++i) {
        connection_->followings.deliver(parcel.live[i].first, std::move(parcel.live[i].second));
    }
}

template <class T, class Work>
void DaemonBridge::Parts::work(Question<T> question, bool isOfDaemon, Work work) {
    Requests::Order order;
    order.context = question.context;
    order.slot = std::move(question.slot);
    order.isSlow = question.isSlow;
    order.isOfDaemon = isOfDaemon;
    order.work = [work = std::move(work)]() -> Requests::Answer {
        return std::make_shared<Result<T>>(work());
    };
    order.done = [done = std::move(question.done)](Requests::Answer answer) {
        done(std::move(*static_cast<Result<T>*>(answer.get())));
    };
    order.refused = []() -> Requests::Answer {
        return std::make_shared<Result<T>>(
            resourceExhausted("too many requests wait for the daemon; try again in a moment"));
    };
    requests_.add(std::move(order));
}

template <class T, class Call>
void DaemonBridge::Parts::ask(Question<T> question, Call call) {
    const auto client = connection_ ? connection_->client : nullptr;
    work(std::move(question), true, [client, call = std::move(call)]() -> Result<T> {
        if (client == nullptr) {
            return unavailable("no daemon is connected");
        }
        return call(*client);
    });
}

template <class T, class Request, class Call>
void DaemonBridge::Parts::askAbout(Question<T> question, Request request, Call call) {
    ask<T>(std::move(question),
           [elsewhere = elsewhere_, address = address_, request = std::move(request),
            call = std::move(call)](Client& to) -> Result<T> {
               Request there = request;
               for (std::string* directory : baseDirectories(there)) {
                   if (elsewhere.isFor(address) && !directory->empty()) {
                       ASSIGN_OR_RETURN(*directory, elsewhere.baseDir(address, *directory));
                   }
               }
               return call(to, there);
           });
}

bool DaemonBridge::Elsewhere::isFor(const std::string& address) const {
    return baseDir != nullptr && address.rfind("ssh://", 0) == 0;
}

DaemonBridge::DaemonBridge(MakeClient makeClient, Elsewhere elsewhere, QObject* parent)
    : QObject(parent),
      parts_(std::make_unique<Parts>(this, std::move(makeClient), std::move(elsewhere))) {}

DaemonBridge::~DaemonBridge() = default;

void DaemonBridge::connectTo(const std::string& address) {
    parts_->connectTo(address);
}

void DaemonBridge::retryNow() {
    Q_EMIT retryAsked(parts_->address_);
    if (parts_->connection_ != nullptr) {
        parts_->connection_->link.retryNow();
    }
}

const std::string& DaemonBridge::address() const {
    return parts_->address_;
}

const session::Link& DaemonBridge::link() const {
    return parts_->link_;
}

const values::Handshake& DaemonBridge::handshake() const {
    return parts_->facts_.handshake;
}

const std::vector<values::NodeInfo>& DaemonBridge::nodes() const {
    return parts_->facts_.nodes;
}

std::uint64_t DaemonBridge::droppedUpdates() const {
    return parts_->numDropped();
}

std::uint64_t DaemonBridge::numDeliveries() const {
    return parts_->clock_.numDeliveries();
}

bool DaemonBridge::isSettled() const {
    return parts_->isSettled();
}

void DaemonBridge::get(const std::string& run, QObject* context, Done<values::RunDetail> done,
                       const std::string& slot) {
    parts_->askFor({context, slot, false, std::move(done)}, &Client::get, run);
}

void DaemonBridge::metricRange(values::MetricRangeRequest request, QObject* context,
                               Done<values::MetricHistory> done, const std::string& slot) {
    parts_->askFor({context, slot, false, std::move(done)}, &Client::metricRange,
                   std::move(request));
}

void DaemonBridge::list(values::ListRequest request, QObject* context, Done<values::RunPage> done,
                        const std::string& slot) {
    parts_->askFor({context, slot, false, std::move(done)}, &Client::list, std::move(request));
}

void DaemonBridge::parseFilter(const std::string& filter, QObject* context,
                               Done<values::FilterCheck> done, const std::string& slot) {
    parts_->askFor({context, slot, false, std::move(done)}, &Client::parseFilter, filter);
}

void DaemonBridge::check(values::CheckRequest request, QObject* context,
                         Done<values::CheckReply> done, const std::string& slot) {
    parts_->askAbout<values::CheckReply>({context, slot, true, std::move(done)}, std::move(request),
                                         std::mem_fn(&Client::check));
}

void DaemonBridge::dataset(values::DatasetRequest request, QObject* context,
                           Done<values::DatasetReply> done, const std::string& slot) {
    parts_->askAbout<values::DatasetReply>({context, slot, true, std::move(done)},
                                           std::move(request), std::mem_fn(&Client::dataset));
}

void DaemonBridge::steps(values::StepsRequest request, QObject* context,
                         Done<values::StepsReply> done, const std::string& slot) {
    parts_->askAbout<values::StepsReply>({context, slot, true, std::move(done)}, std::move(request),
                                         std::mem_fn(&Client::steps));
}

void DaemonBridge::pair(values::PairRequest request, QObject* context, Done<values::PairReply> done,
                        const std::string& slot) {
    parts_->askFor({context, slot, true, std::move(done)}, &Client::pair, std::move(request));
}

std::unique_ptr<Following> DaemonBridge::preview(values::PreviewRequest request, QObject* context,
                                                 Done<values::PreviewReply> done) {
    auto asking = std::make_unique<PendingCall>();
    const std::stop_token stop = asking->token();
    parts_->askAbout<values::PreviewReply>(
        {context, "", true,
         [stop, done = std::move(done)](Result<values::PreviewReply> reply) {
             if (!stop.stop_requested()) {
                 done(std::move(reply));
             }
         }},
        std::move(request), [stop](Client& to, const values::PreviewRequest& about) {
            return stop.stop_requested()
                       ? Result<values::PreviewReply>(cancelled("nobody wants it any more"))
                       : to.preview(about, stop);
        });
    return asking;
}

void DaemonBridge::submit(values::SubmitRequest request, QObject* context,
                          Done<values::SubmitReply> done) {
    parts_->ask<values::SubmitReply>(
        {context, "", true, std::move(done)},
        [elsewhere = parts_->elsewhere_, address = parts_->address_,
         request = std::move(request)](Client& to) -> Result<values::SubmitReply> {
            values::SubmitRequest whole = request;
            session::completeSubmission(whole, SystemClock());
            if (elsewhere.isFor(address)) {
                RETURN_IF_ERROR(elsewhere.complete(address, whole));
            }
            return session::submitSurely(to, whole);
        });
}

void DaemonBridge::submitAgain(values::SubmitRequest request, QObject* context,
                               Done<values::SubmitReply> done) {
    const bool isThere = parts_->elsewhere_.isFor(parts_->address_);
    parts_->ask<values::SubmitReply>(
        {context, "", true, std::move(done)}, [isThere, request = std::move(request)](Client& to) {
            values::SubmitRequest whole = request;
            session::completeSubmission(whole, SystemClock());
            if (isThere) {
                whole.git = {};  // it would describe a directory of this machine that happens to
                                 // have the same name
            }
            return session::submitSurely(to, whole);
        });
}

void DaemonBridge::stop(const std::string& run, QObject* context, Done<values::RunSummary> done) {
    parts_->askFor({context, "", true, std::move(done)}, &Client::stop, run, 0, std::string());
}

void DaemonBridge::resume(const std::string& run, std::int64_t step, QObject* context,
                          Done<values::RunSummary> done) {
    parts_->askFor({context, "", false, std::move(done)}, &Client::resume, run, step,
                   values::RankCount());
}

void DaemonBridge::remove(const std::string& run, QObject* context, Done<values::RunSummary> done) {
    parts_->ask<values::RunSummary>(
        {context, "", false, std::move(done)}, [run](Client& to) -> Result<values::RunSummary> {
            ASSIGN_OR_RETURN(values::RemovedRun removed, to.remove(run, false));
            return std::move(removed.run);
        });
}

void DaemonBridge::restore(const std::string& run, QObject* context,
                           Done<values::RunSummary> done) {
    parts_->askFor({context, "", false, std::move(done)}, &Client::restore, run);
}

void DaemonBridge::setNote(const std::string& run, const std::string& note, QObject* context,
                           Done<values::RunSummary> done) {
    parts_->askFor({context, "", false, std::move(done)}, &Client::setNote, run, note);
}

void DaemonBridge::readHosts(QObject* context, Done<HostNames> done) {
    parts_->work<HostNames>(
        {context, "hosts", false, std::move(done)}, false, []() -> Result<HostNames> {
            HostNames names;
            const Result<std::string> path = session::HostBook::defaultPath();
            // A damaged book offers no hosts; `millrace host ls` reports the error.
            if (const auto book = session::HostBook::read(path.value_or("")); book.ok()) {
                names.named = book->all();
            }
            const char* config = std::getenv("MILLRACE_SSH_CONFIG");
            names.aliases = ssh::hostsOfConfig(config == nullptr ? "" : config);
            return names;
        });
}

void DaemonBridge::readSpecFile(const std::string& path, QObject* context, Done<std::string> done) {
    parts_->work<std::string>({context, "", false, std::move(done)}, false,
                              [path] { return session::readSpecText(path); });
}

void DaemonBridge::writeTextFile(const std::string& path, std::string text, QObject* context,
                                 Done<std::string> done) {
    parts_->work<std::string>({context, "", false, std::move(done)}, false,
                              [path, text = std::move(text)]() -> Result<std::string> {
                                  RETURN_IF_ERROR(writeFileAtomic(path, text));
                                  return path;
                              });
}

std::unique_ptr<Following> DaemonBridge::followMetrics(std::vector<std::string> runs,
                                                       OnMetrics onMetrics, MetricCursors after) {
    const auto& connection = parts_->connection_;
    const std::uint64_t id = connection
                                 ? connection->followings.followMetrics(
                                       std::move(runs), std::move(after), std::move(onMetrics))
                                 : 0;
    return std::make_unique<LiveFollowing>(connection, id);
}

std::unique_ptr<Following> DaemonBridge::followLogs(const std::string& run, int tailLines,
                                                    OnLogs onLogs) {
    const auto& connection = parts_->connection_;
    const std::uint64_t id =
        connection ? connection->followings.followLogs(run, tailLines, std::move(onLogs)) : 0;
    return std::make_unique<LiveFollowing>(connection, id);
}

}  // namespace millrace::gui
