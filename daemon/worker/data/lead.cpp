#include "daemon/worker/data/lead.h"

#include <chrono>
#include <tuple>

#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/objects/object_store.h"
#include "daemon/worker/data/codec_messages.h"
#include "daemon/worker/data/slab_channel.h"
#include "daemon/worker/data/store_messages.h"

namespace millrace::data {
namespace {

// Time passes for the master without events, too: late workers, and workers that are wanted.
constexpr std::chrono::milliseconds kTurn{200};
constexpr std::int64_t kTickNs = 1'000'000'000;

std::string socketBeside(const std::string& joinPath) {
    return joinPath + ".sock";
}

}  // namespace

Lead::Lead(const loader::ElsewhereOptions& options)
    : joinPath_(options.joinFile),
      workersLeast_(static_cast<int>(options.spec.resources.dataWorkersMin)),
      workersMost_(static_cast<int>(options.spec.resources.dataWorkersMax)),
      isNetwork_(!options.listen.empty()),
      isFeedBeside_(workersLeast_ == 0 && loader::mayHaveWorkersBeside(options.spec, isNetwork_)),
      codecs_(isNetwork_ && !options.isUncoded) {}

Status Lead::watchStore(const stream::Plan& plan) {
    if (!readsObjects(plan)) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const auto store, objects::ObjectStore::open());
    store_ = std::make_unique<StoreWatch>(
        [store](const std::string& refusedKey) {
            return refusedKey.empty() ? store->access() : store->accessAfter(refusedKey);
        },
        [this](bool isNew) {
            Event event{Event::Kind::kStore};
            event.isNewStore = isNew;
            post(std::move(event));
        });
    return okStatus();
}

Status Lead::open(const loader::ElsewhereOptions& options) {
    ASSIGN_OR_RETURN(transport::JoinFile file,
                     transport::JoinFile::make(options.listen, socketBeside(joinPath_)));
    file.relayToken = randomBytes(transport::JoinFile::kTokenBytes);
    file.attempt = options.attempt;
    streamHash_ = spec::streamHash(options.spec);
    planHash_ = options.plan.planHash();
    RETURN_IF_ERROR(watchStore(options.plan));
    DataPlaneOptions dataPlane;
    if (store_ != nullptr) {
        dataPlane.store = [watch = store_.get()] { return watch->access(); };
    }
    dataPlane.buildId = options.buildId;
    dataPlane.token = file.token;
    dataPlane.relayToken = file.relayToken;
    dataPlane.attempt = options.attempt;
    dataPlane.spec = dumpJson(options.spec.toJson());
    dataPlane.plan = options.plan.toJsonText();
    dataPlane.streamHash = streamHash_;
    dataPlane.planHash = planHash_;
    dataPlane.feedSocket = options.feedSocket;
    dataPlane.groupSocket = options.groupSocket;
    dataPlane.isNetwork = isNetwork_;
    dataPlane.ledger = ledger();
    ASSIGN_OR_RETURN(dataPlane_, DataPlaneServer::open(std::move(dataPlane),
                                                       static_cast<WorkerAdmission&>(*this)));
    ASSIGN_OR_RETURN(server_,
                     transport::Server::start(file, *dataPlane_, [file](std::string_view token) {
                         return transport::isSameToken(token, file.token) ||
                                // Either token opens the connection; the server then checks which
                                // calls it allows.
                                transport::isSameToken(token, file.relayToken);
                     }));
    if (file.isUnix()) {
        ASSIGN_OR_RETURN(slabGate_,
                         LocalPeerGate::open(slabSocket(file.unixPath()),
                                             [this](int fd) { dataPlane_->slabs(UniqueFd(fd)); }));
    }
    RETURN_IF_ERROR(file.write(joinPath_));
    // The join file is written last: a worker that finds it finds the server and the gate open.
    thread_ = startThread("data-lead", [this](const std::stop_token& stop) { run(stop); });
    logInfo("data: workers and relays may join", {{"file", joinPath_}, {"address", file.address}});
    return okStatus();
}

Result<std::unique_ptr<Lead>> Lead::start(const loader::ElsewhereOptions& options) {
    std::unique_ptr<Lead> lead(new Lead(options));
    RETURN_IF_ERROR(lead->open(options));
    return lead;
}

Lead::~Lead() {
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
        ::unlink(joinPath_.c_str());
    }
    // The thread has ended: events that gRPC's threads still post are never handled.
    std::map<LinkPtr, Member> members;
    {
        MutexLock lock(turn_);
        members.swap(members_);
    }
    v1::WorkerOrders end;
    end.set_is_end(true);
    for (const auto& [link, member] : members) {
        link->send(end);
        link->close(grpc::Status::OK);
    }
    slabGate_.reset();
    if (dataPlane_ != nullptr) {
        dataPlane_->endRelays();
    }
    // Waits for the calls that still run. They read store_ through the server, so it ends last.
    server_.reset();
    store_.reset();
}

void Lead::attach(segment::RemoteSegmentQueue& queue,
                  std::shared_ptr<const segment::StreamInput> input) {
    stream::StreamMaster::Options options;
    options.workersLeast = workersLeast_;
    options.workersMost = workersMost_;
    options.isFeedBeside = isFeedBeside_;
    // Without workers of its own a run does not wait for any: the feed computes at once.
    options.aloneNs = workersLeast_ > 0 ? options.aloneNs : 0;
    {
        MutexLock lock(turn_);
        options.firstGeneration = firstGeneration_;
        // Frames of a stream may be released after its end: relays still fetched them.
        const std::uint64_t number = ++numStreams_;
        stream_ = std::make_unique<LedStream>(
            queue, std::move(input), options, ledger_,
            [this, number](const stream::SegmentOrder& order) {
                post({Event::Kind::kReleased, nullptr, {}, okStatus(), order, false, number});
            });
        for (auto& [link, member] : members_) {
            joinStream(link, member);
        }
    }
    // Outside turn_, here and in detach(): onChange() may wait for a running call, and nothing
    // waits under a lock (docs/decisions/0010). Where both locks are held, turn_ comes before
    // mutex_.
    queue.onChange([this] {
        MutexLock lock(mutex_);
        isDeskNews_ = true;
        changed_.notifyAll();
    });
    post({});
}

void Lead::detach() {
    segment::RemoteSegmentQueue* queue = nullptr;
    {
        MutexLock lock(turn_);
        if (!stream_) {
            return;
        }
        queue = &stream_->queue();
        // Generations continue over streams, so that a late answer to an order of the old stream
        // never matches an order of the new one.
        firstGeneration_ = stream_->nextGeneration();
        gone_.segments += stream_->numDelivered();
        gone_.frameBytes += stream_->frameBytes();
        stream_.reset();
        v1::WorkerOrders reset;
        reset.set_is_reset(true);
        for (auto& [link, member] : members_) {
            member.id = 0;
            link->send(reset);
        }
    }
    queue->onChange(nullptr);
}

bool Lead::isCarrying() {
    return dataPlane_->isCarrying();
}

bool Lead::mayStartElsewhere() {
    MutexLock lock(turn_);
    return isNetwork_ && !members_.empty();
}

Lead::Figures Lead::figures() {
    MutexLock lock(turn_);
    Figures figures = figures_;
    figures.workers = static_cast<int>(members_.size());
    countTraffic();
    figures.traffic = traffic_.table();
    const stream::FrameBook::Totals totals = ledger_.totals();
    figures.traffic.directBytes = totals.bytes;
    figures.traffic.carriedBytes = totals.carriedBytes;
    if (stream_) {
        std::tie(figures.rowsRead, figures.rowsKept) = stream_->takeRows();
    }
    return figures;
}

Lead::Account Lead::account() {
    MutexLock lock(turn_);
    Account account = gone_;
    for (const auto& [link, member] : members_) {
        account.cpuSeconds += member.cpuSeconds;
        account.networkBytes += isNetwork_ ? link->traffic().bytes : 0;
    }
    if (stream_) {
        account.segments += stream_->numDelivered();
        account.frameBytes += stream_->frameBytes();
    }
    const stream::FrameBook::Totals totals = ledger_.totals();
    account.networkBytes += totals.codedBytes;
    account.directBytes = totals.bytes;
    account.carriedBytes = totals.carriedBytes;
    account.codecs = codecs_.plan().value_or(frame::CodecPlan());
    account.linkBytesPerSecond = codecs_.linkBytesPerSecond();
    return account;
}

void Lead::post(Event event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notifyAll();
}

void Lead::whole(const LinkPtr& link) {
    post({Event::Kind::kWhole, link});
}

void Lead::report(const LinkPtr& link, v1::WorkerReport& report) {
    Event event{Event::Kind::kReport, link};
    // Swapped, not copied: a report describes each frame of its segments.
    event.report.Swap(&report);
    post(std::move(event));
}

void Lead::closed(const LinkPtr& link) {
    post({Event::Kind::kClosed, link});
}

void Lead::broken(const LinkPtr& link, const Status& why) {
    post({Event::Kind::kBroken, link, {}, why});
}

void Lead::relaysChanged() {
    post({Event::Kind::kRelays});
}

void Lead::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { post({}); });
    while (!stop.stop_requested()) {
        std::deque<Event> events;
        {
            MutexLock lock(mutex_);
            if (events_.empty() && !isDeskNews_) {
                changed_.waitFor(mutex_, kTurn);
            }
            events.swap(events_);
            isDeskNews_ = false;
        }
        MutexLock lock(turn_);
        for (Event& event : events) {
            handle(event);
        }
        countTraffic();
        ledger_.endOverdue(SystemClock().steadyNs());
        if (stream_) {
            turn();
        } else {
            for (const stream::SegmentName& name : ledger_.orphans()) {
                ledger_.giveUp(name);
            }
        }
    }
}

void Lead::handle(Event& event) {
    switch (event.kind) {
        case Event::Kind::kWhole:
            if (members_.emplace(event.link, Member()).second) {
                senders_[event.link->number] = event.link->sender;
                greet(event.link);
                event.link->readNext();
            }
            break;
        case Event::Kind::kReport:
            handleReport(event.link, event.report);
            break;
        case Event::Kind::kClosed:
            if (members_.contains(event.link)) {
                logInfo("data: worker gone", {{"worker", event.link->name}});
                lose(event.link, stream::StreamMaster::Loss::kDied);
            }
            event.link->close(grpc::Status::OK);
            break;
        case Event::Kind::kBroken:
            refuse(event.link, event.why);
            break;
        case Event::Kind::kReleased:
            if (stream_ && event.stream == numStreams_) {
                stream_->released(event.order);
            }
            break;
        case Event::Kind::kRelays:
            tellRelays();
            break;
        case Event::Kind::kStore:
            handStore(event.isNewStore);
            break;
        case Event::Kind::kChanged:
            break;
    }
}

// Sent before any order.
void Lead::greet(const LinkPtr& link) {
    v1::WorkerOrders message;
    message.set_wants_measures(codecs_.wantsMeasures());
    if (codecs_.plan()) {
        toMessage(*codecs_.plan(), *message.mutable_codecs());
    }
    if (isNetwork_) {
        *message.mutable_relays() = dataPlane_->relays();
    }
    link->send(message);
}

void Lead::tellRelays() {
    v1::WorkerOrders message;
    *message.mutable_relays() = dataPlane_->relays();
    for (auto& [link, member] : members_) {
        link->send(message);
    }
}

void Lead::handleReach(const LinkPtr& link, const v1::WorkerReport& report) {
    std::vector<stream::FrameBook::Reach> reached;
    for (const v1::RelayReach& reach : report.reached()) {
        reached.push_back({reach.relay(), reach.connection()});
    }
    ledger_.setReached(link->number, reached);
}

// Workers use it from their next request on.
void Lead::handStore(bool isNew) {
    v1::WorkerOrders message;
    toMessage(store_->access(), *message.mutable_store());
    for (auto& [link, member] : members_) {
        if (isNew || member.awaitsStore) {
            link->send(message);
        }
        member.awaitsStore = false;
    }
    if (isNew) {
        logDebug("data: the store's credentials are renewed, for workers too");
    }
}

Status Lead::readMeasures(const v1::WorkerReport& report) {
    if (report.measures().empty() || !stream_) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(frame::CodecMeasures measures, measuresOf(report));
    if (!codecs_.measured(std::move(measures), stream_->layout().numColumns())) {
        return dataLoss("work: measures of codecs for ", report.measures_size(), " columns, not ",
                        stream_->layout().numColumns());
    }
    return okStatus();
}

// Workers of one feed are assumed to have similar links: the choice uses the traffic of all.
void Lead::chooseCodecs() {
    wire::Traffic traffic;
    for (const auto& [link, member] : members_) {
        traffic.add(link->traffic());
    }
    traffic.add(dataPlane_->followers().traffic());
    if (!codecs_.choose(traffic)) {
        return;
    }
    v1::WorkerOrders message;
    toMessage(*codecs_.plan(), *message.mutable_codecs());
    for (const auto& [link, member] : members_) {
        link->send(message);
    }
    logInfo("data: codecs are chosen",
            {{"linkMbPerSecond", codecs_.linkBytesPerSecond() / 1e6}, {"columns", codecs_.text()}});
}

void Lead::countTraffic() {
    if (!isNetwork_) {
        return;
    }
    for (auto& [link, member] : members_) {
        countTraffic(link, member);
    }
    relay::Followers& relays = dataPlane_->followers();
    std::map<stream::FrameBook::Pair, wire::Traffic> fetched;
    for (const auto& [pair, totals] : ledger_.takeTraffic()) {
        fetched[pair] = {totals.codedBytes, 0, totals.bytes};
    }
    for (const auto& [pair, waitNs] : relays.takeWaits()) {
        fetched[pair].waitNs = waitNs;
    }
    for (const auto& [pair, traffic] : fetched) {
        const auto from = senderOf(pair.first), to = relays.nameOf(pair.second);
        if (from && to) {
            traffic_.add(*from, *to, traffic);
        }
    }
    const std::int64_t now = SystemClock().steadyNs();
    if (now - tickNs_ >= kTickNs) {
        tickNs_ = now;
        traffic_.tick(now);
    }
}

void Lead::countTraffic(const LinkPtr& link, Member& member) {
    const wire::Traffic traffic = link->traffic();
    traffic_.add(link->sender, own_, traffic.since(member.counted));
    member.counted = traffic;
}

std::optional<wire::Sender> Lead::senderOf(std::uint64_t worker) const {
    if (worker == stream::FrameBook::kFeed) {
        return own_;
    }
    const auto sender = senders_.find(worker);
    return sender == senders_.end() ? std::nullopt : std::optional(sender->second);
}

void Lead::handleReport(const LinkPtr& link, const v1::WorkerReport& report) {
    const auto place = members_.find(link);
    if (place == members_.end()) {
        return;
    }
    Member& member = place->second;
    member.places = static_cast<int>(report.places());
    member.cpuSeconds = static_cast<double>(report.cpu_ms()) / 1e3;
    if (store_ != nullptr && !report.refused_key().empty()) {
        member.awaitsStore = true;
        store_->refused(report.refused_key());
    }
    // The worker computes both hashes again from the spec and plan that it has read. If they
    // differ, its rows would be others, and no checksum of frames would show it.
    if (!member.isChecked && !isRightInput(report)) {
        refuse(link, failedPrecondition("work: what this worker computes is stream ",
                                        report.stream_hash(), " of plan ", report.plan_hash(),
                                        ", not ", streamHash_, " of plan ", planHash_,
                                        "; are the files the same where it runs?"));
        return;
    }
    handleReach(link, report);
    const Status measured = readMeasures(report);
    if (!measured.ok()) {
        refuse(link, measured);
        return;
    }
    if (!member.isChecked) {
        member.isChecked = true;
        member.threads = static_cast<int>(report.threads());
        logInfo("data: worker joined", {{"worker", link->name}, {"threads", member.threads}});
        joinStream(link, member);
    }
    if (report.is_leaving() && !member.isLeaving) {
        logInfo("data: worker leaves", {{"worker", link->name}});
        member.isLeaving = true;
    }
    if (!stream_) {
        if (member.isLeaving) {
            v1::WorkerOrders end;
            end.set_is_end(true);
            link->send(end);
        }
        // Requests the next report only after this one is handled: this bounds events_ (see the
        // header).
        link->readNext();
        return;
    }
    stream_->report(member.id, member.places);
    if (member.isLeaving) {
        stream_->leave(member.id);
    }
    handleAnswers(link, member, report);
}

void Lead::handleAnswers(const LinkPtr& link, const Member& member,
                         const v1::WorkerReport& report) {
    for (const v1::OrderName& name : report.begun()) {
        stream_->begun(member.id, name);
    }
    for (const v1::SegmentDone& done : report.done()) {
        const Status status = stream_->answered(member.id, done);
        if (!status.ok()) {
            refuse(link, status);
            return;
        }
    }
    link->readNext();
}

void Lead::joinStream(const LinkPtr& link, Member& member) {
    if (stream_ && member.isChecked) {
        member.id = stream_->join(link, member.places, member.threads);
    }
}

void Lead::refuse(const LinkPtr& link, const Status& why) {
    if (members_.contains(link)) {
        logWarn("data: refused", {{"worker", link->name}, {"why", messageOf(why)}});
        lose(link, stream::StreamMaster::Loss::kBroken);
    }
    link->close(transport::toGrpc(why));
}

void Lead::lose(const LinkPtr& link, stream::StreamMaster::Loss loss) {
    const stream::WorkerId id = members_.at(link).id;
    if (isNetwork_) {
        countTraffic(link, members_.at(link));
    }
    gone_.cpuSeconds += members_.at(link).cpuSeconds;
    gone_.networkBytes += isNetwork_ ? link->traffic().bytes : 0;
    members_.erase(link);
    ledger_.lose(link->number);
    countTraffic();  // its name is needed for the frames that relays got from it
    senders_.erase(link->number);
    // The stream assigns its segments to other workers, or the feed computes them.
    if (stream_ && id != 0) {
        stream_->lose(id, loss);
    }
}

void Lead::turn() {
    // Frames may have to be fetched here that relays fetched so far, or not any more.
    if (ledger_.takeChange()) {
        stream_->queue().lookAgain();
    }
    for (const LedStream::Refusal& refusal : stream_->turn(traffic_)) {
        if (const LinkPtr link = linkOf(refusal.worker)) {
            refuse(link, refusal.why);
        }
    }
    figures_.workersWanted = stream_->workersWanted();
    chooseCodecs();
}

Lead::LinkPtr Lead::linkOf(stream::WorkerId id) const {
    for (const auto& [link, member] : members_) {
        if (member.id == id) {
            return link;
        }
    }
    return nullptr;
}

}  // namespace millrace::data
