#include "daemon/worker/relay/group_tunnel.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/feed/ring_layout.h"
#include "backend/system/unix_socket.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/relay/follow_link.h"

namespace millrace::relay {
namespace {

// Ranks wait for each other for the same time.
constexpr std::int64_t kMeetingNs = 60'000'000'000;
constexpr std::chrono::milliseconds kLook{20};

template <class Call>
std::size_t countOpen(std::list<std::weak_ptr<Call>>& calls) {
    calls.remove_if([](const std::weak_ptr<Call>& weak) {
        const auto call = weak.lock();
        return call == nullptr || call->isOver();
    });
    return calls.size();
}

}  // namespace

Result<std::unique_ptr<GroupEntry>> GroupEntry::open(const std::string& socketPath,
                                                     std::string joinPath, std::string buildId) {
    std::unique_ptr<GroupEntry> entry(new GroupEntry(std::move(joinPath), std::move(buildId)));
    ASSIGN_OR_RETURN(entry->pump_, transport::SocketPump::start());
    ASSIGN_OR_RETURN(entry->gate_, LocalPeerGate::open(socketPath, [self = entry.get()](int fd) {
                         const Status status = self->carry(UniqueFd(fd));
                         if (!status.ok()) {
                             logWarn("relay: a rank cannot reach the others",
                                     {{"why", messageOf(status)}});
                         }
                     }));
    return entry;
}

Status GroupEntry::carry(UniqueFd socket) {
    ASSIGN_OR_RETURN(const transport::JoinFile file, transport::JoinFile::read(joinPath_));
    ASSIGN_OR_RETURN(const auto channel, transport::openChannel(file));
    const auto port = pump_->open(std::move(socket));
    const std::shared_ptr<Call> call = Call::make(
        {[port](v1::GroupBytes& bytes) { port->received(std::move(*bytes.mutable_data())); },
         [port] { port->closed(); }, [port] { port->written(); }});
    const auto stub = v1::Data::NewStub(channel);
    call->start([&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Group(context, reactor);
    });
    v1::GroupBytes first;
    *first.mutable_join() = requestOf(file, buildId_);
    call->send(std::move(first));
    {
        MutexLock lock(mutex_);
        countOpen(calls_);
        calls_.push_back(call);
    }
    pump_->attach(*port,
                  transport::makeLink<v1::GroupBytes>(
                      call, [](Call& one) { one.close(); }, [](Call& one) { one.waitDone(); }));
    return okStatus();
}

std::size_t GroupEntry::numOpen() {
    MutexLock lock(mutex_);
    return countOpen(calls_);
}

Result<std::unique_ptr<GroupExit>> GroupExit::open(std::string socketPath, Admits admits) {
    std::unique_ptr<GroupExit> exit(new GroupExit(std::move(socketPath), std::move(admits)));
    ASSIGN_OR_RETURN(exit->pump_, transport::SocketPump::start());
    exit->thread_ = startThread(
        "group-gate", [self = exit.get()](const std::stop_token& stop) { self->run(stop); });
    return exit;
}

GroupExit::~GroupExit() {
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
    }
    pump_.reset();
    std::list<std::weak_ptr<Call>> calls;
    {
        MutexLock lock(mutex_);
        calls.swap(calls_);
    }
    for (const auto& weak : calls) {
        if (const auto call = weak.lock()) {
            call->close({grpc::StatusCode::UNAVAILABLE, "the feed ends"});
        }
    }
}

std::shared_ptr<GroupExit::Call> GroupExit::call() {
    const auto way = std::make_shared<Way>();
    const std::shared_ptr<Call> call =
        Call::start({[this, way](v1::GroupBytes& bytes) { came(way, bytes); },
                     [way] {
                         if (const auto port = way->to()) {
                             port->closed();
                         }
                     },
                     [way] {
                         if (const auto port = way->to()) {
                             port->written();
                         }
                     }});
    way->call = call;
    {
        MutexLock lock(mutex_);
        countOpen(calls_);
        calls_.push_back(call);
    }
    call->readNext();
    return call;
}

std::size_t GroupExit::numOpen() {
    MutexLock lock(mutex_);
    return countOpen(calls_);
}

// The first message identifies the caller; further ones are read when rank 0 is connected.
void GroupExit::came(const std::shared_ptr<Way>& way, v1::GroupBytes& bytes) {
    if (const auto port = way->to()) {
        port->received(std::move(*bytes.mutable_data()));
        return;
    }
    const Status admitted = admits_(bytes.join());
    if (!admitted.ok()) {
        if (const auto call = way->call.lock()) {
            call->close(transport::toGrpc(admitted));
        }
        return;
    }
    MutexLock lock(mutex_);
    waiting_.push_back({way, ring::steadyNs() + kMeetingNs});
    changed_.notifyAll();
}

void GroupExit::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        MutexLock lock(mutex_);
        changed_.notifyAll();
    });
    while (!stop.stop_requested()) {
        std::vector<Waiting> waiting;
        {
            MutexLock lock(mutex_);
            while (waiting_.empty() && !stop.stop_requested()) {
                changed_.wait(mutex_);
            }
            waiting = waiting_;
        }
        std::erase_if(waiting, [this](const Waiting& one) { return !settle(one); });
        MutexLock lock(mutex_);
        std::erase_if(waiting_, [&waiting](const Waiting& one) {
            return std::any_of(waiting.begin(), waiting.end(),
                               [&one](const Waiting& done) { return done.way == one.way; });
        });
        if (!waiting_.empty() && !stop.stop_requested()) {
            changed_.waitFor(mutex_, kLook);
        }
    }
}

bool GroupExit::settle(const Waiting& waiting) {
    const auto call = waiting.way->call.lock();
    if (call == nullptr || call->isOver()) {
        return true;
    }
    Result<UniqueFd> socket = connectOwnUnix(socketPath_);
    if (socket.ok()) {
        const std::shared_ptr<const Port> port = pump_->open(std::move(*socket));
        {
            MutexLock lock(waiting.way->mutex);
            waiting.way->port = port;
        }
        if (call->isOver()) {
            port->closed();  // the call ended before the port was known
        }
        pump_->attach(*port,
                      transport::makeLink<v1::GroupBytes>(
                          call, [](Call& one) { one.close(grpc::Status::OK); }, [](Call&) {}));
        return true;
    }
    const bool isMissing =
        absl::IsNotFound(socket.status()) || absl::IsUnavailable(socket.status());
    if (isMissing && ring::steadyNs() < waiting.endNs) {
        return false;
    }
    logWarn("feed: a rank of another node does not reach rank 0",
            {{"why", messageOf(socket.status())}});
    call->close(transport::toGrpc(socket.status()));
    return true;
}

}  // namespace millrace::relay
