#include "daemon/worker/data/worker_session.h"

#include <algorithm>

#include "backend/core/log.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/data/codec_messages.h"
#include "daemon/worker/data/messages.h"
#include "daemon/worker/data/store_messages.h"
#include "daemon/worker/wire/sender.h"

namespace millrace::data {
namespace {

constexpr std::chrono::seconds kJoinTime{60};
// At most a third of the segments' memory is for coded frames that were not fetched yet.
constexpr std::int64_t kHeldShare = 3;

Status readFirst(const v1::JoinPiece& piece, Joined& joined) {
    joined.session = piece.session();
    joined.worker = piece.worker();
    joined.streamHash = piece.stream_hash();
    joined.planHash = piece.plan_hash();
    if (piece.has_store()) {
        joined.store = accessOf(piece.store());
    }
    ASSIGN_OR_RETURN(const Json json, parseJson(piece.spec(), "the feed's spec"));
    ASSIGN_OR_RETURN(joined.spec, spec::RunSpec::fromJson(json));
    return okStatus();
}

}  // namespace

Result<Joined> join(const transport::JoinFile& file, const std::string& buildId) {
    ASSIGN_OR_RETURN(const auto channel, transport::openChannel(file));
    const auto stub = v1::Data::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kJoinTime);
    v1::JoinRequest request;
    request.set_build_id(buildId);
    request.set_token(file.token);
    request.set_attempt(file.attempt);
    wire::nameSender(request);
    const auto reader = stub->Join(&context, request);
    Joined joined;
    std::string plan;
    v1::JoinPiece piece;
    Status status;
    while (reader->Read(&piece)) {
        if (!piece.session().empty()) {
            // Only the first piece has more than a part of the plan, which exceeds a message's
            // limit.
            status = readFirst(piece, joined);
        }
        plan += piece.plan();
    }
    // The call's own failure explains more than a spec that was cut off by it.
    RETURN_IF_ERROR(transport::toStatus(reader->Finish()));
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(const Json json, parseJson(plan, "the feed's plan"));
    ASSIGN_OR_RETURN(joined.plan, stream::Plan::fromJson(json));
    return joined;
}

Result<std::unique_ptr<Engine>> Engine::make(const Joined& joined, int threads,
                                             std::int64_t memoryMb) {
    auto engine = std::make_unique<Engine>();
    if (joined.store) {
        ASSIGN_OR_RETURN(engine->store, objects::ObjectStore::openHanded(*joined.store));
    }
    engine->threads = loader::loaderThreads(joined.spec, threads);
    const std::int64_t limitMb = memoryMb > 0 ? memoryMb : joined.spec.resources.memoryLimitMb;
    loader::LoaderSetUp setUp;
    setUp.threads = engine->threads;
    engine->memory = std::make_unique<loader::LoaderMemory>(
        limitMb, loader::loaderNeed(joined.spec, joined.plan, setUp));
    RETURN_IF_ERROR(engine->memory->admitted());
    ASSIGN_OR_RETURN(engine->input,
                     segment::StreamInput::open(
                         joined.spec, joined.plan, recipe::Part::kTrain, engine->memory->budget(),
                         std::make_shared<recipe::SharedTables>(engine->threads)));
    engine->memory->makePools(0);
    return engine;
}

// Uses several slabs, because a slab is freed only as a whole, when its last frame is released.
std::shared_ptr<segment::FrameArena> WorkerSession::openArena(const transport::JoinFile& file,
                                                              std::int64_t heldBytes) {
    constexpr std::int64_t kSlabs = 16, kLeast = 1 << 20, kMost = 32 << 20;
    if (!file.isUnix()) {
        return nullptr;
    }
    auto slabs = SlabSender::connect(file.unixPath(), session_);
    if (!slabs.ok()) {
        logWarn("data: frames are sent, not shared", {{"why", messageOf(slabs.status())}});
        return nullptr;
    }
    slabs_ = std::move(*slabs);
    return std::make_shared<segment::FrameArena>(
        engine_.memory->segments(), std::clamp(heldBytes / kSlabs, kLeast, kMost),
        [this](const segment::FrameSlab& slab) { return slabs_->show(slab); });
}

WorkerSession::WorkerSession(const transport::JoinFile& file, const Joined& joined, Engine& engine)
    : session_(joined.session), engine_(engine), probe_(engine.input->layout()) {
    segment::SegmentServerOptions options;
    options.threads = engine.threads;
    options.heldBytesMax = engine.memory->segments().limitBytes() / kHeldShare;
    options.arena = openArena(file, options.heldBytesMax);
    options.look = [this](const frame::FrameView& frame) { probe_.add(frame); };
    work_ = Work::make({[this](v1::WorkerOrders& orders) {
                            ordered(orders);
                            work_->readNext();
                        },
                        [this] {
                            MutexLock lock(mutex_);
                            isOver_ = true;
                        }});
    server_ = std::make_unique<segment::SegmentServer>(
        engine.input, std::move(options), engine.memory->segments(), engine.counters,
        [this](const stream::SegmentOrder& order) { begun(order); },
        [this](const segment::SegmentDone& answer) { done(answer); });
    const auto frameOf = [this](const stream::SegmentOrder& order, std::int64_t frame) {
        return server_->frame(order, frame);
    };
    sender_ = std::make_unique<FrameSender>(frameOf, [this] {
        MutexLock lock(mutex_);
        isOver_ = true;
    });
    relays_ = std::make_unique<RelaySenders>(frameOf, joined.worker, [this] { report(); });
}

Result<std::unique_ptr<WorkerSession>> WorkerSession::begin(const transport::JoinFile& file,
                                                            const Joined& joined, Engine& engine) {
    std::unique_ptr<WorkerSession> stay(new WorkerSession(file, joined, engine));
    RETURN_IF_ERROR(stay->open(file));
    return stay;
}

// Separate connections, so that orders do not wait for frames.
Status WorkerSession::open(const transport::JoinFile& file) {
    ASSIGN_OR_RETURN(const auto frames, transport::openChannel(file));
    ASSIGN_OR_RETURN(const auto orders, transport::openChannel(file));
    sender_->start(frames, session_);
    const auto stub = v1::Data::NewStub(orders);
    work_->context().AddMetadata(kSessionKey, session_);
    work_->start([&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Work(context, reactor);
    });
    v1::WorkerReport first = newReport();
    first.set_stream_hash(engine_.input->streamHash());
    first.set_plan_hash(engine_.input->planHash());
    first.set_threads(static_cast<std::uint32_t>(engine_.threads));
    work_->send(std::move(first));
    work_->readNext();
    return okStatus();
}

// The calls end first, then the threads that use them.
WorkerSession::~WorkerSession() {
    relays_->close();
    sender_->close();
    work_->close();
    work_->waitDone();
    server_.reset();
    logInfo("data: computed", {{"segments", numComputed_.load()}});
}

v1::WorkerReport WorkerSession::newReport() {
    v1::WorkerReport report;
    report.set_places(static_cast<std::uint32_t>(engine_.places()));
    report.set_cpu_ms(static_cast<std::uint64_t>(1000 * (loader::cpuSeconds() - cpuAtFirst_)));
    if (const auto measures = probe_.take()) {
        toMessage(*measures, report);
    }
    relays_->report(report);
    if (engine_.store != nullptr) {
        report.set_refused_key(engine_.store->question().value_or(""));
    }
    MutexLock lock(mutex_);
    report.set_is_leaving(isLeaving_);
    return report;
}

void WorkerSession::report() {
    work_->send(newReport());
}

void WorkerSession::leave() {
    {
        MutexLock lock(mutex_);
        isLeaving_ = true;
    }
    report();
}

void WorkerSession::begun(const stream::SegmentOrder& order) {
    v1::WorkerReport report = newReport();
    toMessage(order, *report.add_begun());
    work_->send(std::move(report));
}

void WorkerSession::done(const segment::SegmentDone& done) {
    // Cancelled: the order was withdrawn.
    const bool isWanted = done.status.code() != absl::StatusCode::kCancelled;
    if (!done.status.ok() && isWanted) {
        logWarn("data: a segment cannot be computed",
                {{"segment", done.order.name.segment}, {"why", messageOf(done.status)}});
    }
    numComputed_ += done.status.ok() && !done.isGivenUp ? 1 : 0;
    v1::WorkerReport report = newReport();
    toMessage(done, *report.add_done());
    work_->send(std::move(report));
}

void WorkerSession::drop(const stream::SegmentOrder& order) {
    server_->withdraw(order);
    sender_->forget(order);
    relays_->forget(order);
}

Status WorkerSession::setCodecs(const v1::WorkerOrders& orders) {
    if (orders.wants_measures()) {
        probe_.wanted();
    }
    if (orders.has_codecs()) {
        probe_.unwanted();
        ASSIGN_OR_RETURN(frame::CodecPlan codecs,
                         codecsOf(orders.codecs(), engine_.input->layout().numColumns()));
        server_->setCodecs(std::move(codecs));
    }
    return okStatus();
}

void WorkerSession::ordered(const v1::WorkerOrders& orders) {
    const Status codecs = setCodecs(orders);
    if (!codecs.ok()) {
        logError("data: ends its stay", {{"why", messageOf(codecs)}});
        work_->close();
        return;
    }
    if (orders.has_store() && engine_.store != nullptr) {
        engine_.store->hand(accessOf(orders.store()).credentials);
    }
    if (orders.has_relays()) {
        relays_->set(orders.relays());
    }
    std::set<std::pair<stream::SegmentName, std::uint32_t>> reset;
    {
        MutexLock lock(mutex_);
        if (orders.is_reset()) {
            // The stream ended, another one may follow on this connection: all orders of the old
            // one go.
            reset.swap(orders_);
        }
        isTold_ = isTold_ || orders.is_end();
        isOver_ = isOver_ || orders.is_end();
    }
    for (const auto& [name, generation] : reset) {
        stream::SegmentOrder order;
        order.name = name;
        order.generation = generation;
        // Frames that the feed still reads from shared memory stay until it withdraws them by name.
        server_->withdrawUnread(order);
        sender_->forget(order);
        relays_->forget(order);
    }
    for (const v1::OrderName& name : orders.withdrawn()) {
        const stream::SegmentOrder order = orderOf(name);
        {
            MutexLock lock(mutex_);
            orders_.erase({order.name, order.generation});
        }
        drop(order);
    }
    for (const v1::SegmentOrder& message : orders.orders()) {
        const stream::SegmentOrder order = orderOf(message);
        {
            MutexLock lock(mutex_);
            orders_.emplace(order.name, order.generation);
        }
        server_->order(order);
    }
}

bool WorkerSession::isOver() const {
    MutexLock lock(mutex_);
    return isOver_;
}

Status WorkerSession::end() {
    work_->close();
    work_->waitDone();
    MutexLock lock(mutex_);
    if (isTold_) {
        return okStatus();
    }
    const Status status = transport::toStatus(work_->status());
    return status.ok() || status.code() == absl::StatusCode::kCancelled
               ? unavailable("the feed is gone")
               : status;
}

}  // namespace millrace::data
