#include "daemon/worker/data/lead.h"

#include <chrono>

#include <unistd.h>

#include "backend/certificate/certificate.h"
#include "backend/core/clock.h"
#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "daemon/worker/data/messages.h"

namespace millrace::data {
namespace {

using Hand = stream::StreamMaster::Hand;

constexpr std::chrono::milliseconds kTurn{200};
constexpr std::int64_t kAdviceNs = 1'000'000'000;

std::int64_t steadyNs() {
    return SystemClock().steadyNs();
}

v1::OrderName nameOf(const stream::SegmentOrder& order, std::uint32_t generation) {
    v1::OrderName name;
    toMessage(order, name);
    name.set_generation(generation);
    return name;
}

// Whoever computes the segment meets these: the file is damaged, a row breaks the spec.
bool isOfTheData(const Status& status) {
    return status.code() == absl::StatusCode::kDataLoss ||
           status.code() == absl::StatusCode::kInvalidArgument ||
           status.code() == absl::StatusCode::kOutOfRange;
}

std::string socketBeside(const std::string& joinPath) {
    return joinPath + ".sock";
}

}  // namespace

/// The frames of one answer, at their worker.
class Lead::Holder final : public segment::FrameHolder {
 public:
    Holder(Lead& lead, LinkPtr link, stream::SegmentOrder known,
           std::shared_ptr<const segment::StreamInput> input)
        : lead_(lead), link_(std::move(link)), known_(std::move(known)), input_(std::move(input)) {}

    void take(const stream::SegmentOrder&, const segment::FrameSpan& span,
              const std::shared_ptr<segment::RemoteFrames>& to) override {
        link_->ask(known_, span, to);
    }
    void release(const stream::SegmentOrder& order) override {
        link_->forget(known_);
        lead_.post({Event::Kind::kReleased, link_, {}, okStatus(), order});
    }

 private:
    Lead& lead_;
    const LinkPtr link_;
    const stream::SegmentOrder known_;                         ///< as the worker knows it
    const std::shared_ptr<const segment::StreamInput> input_;  ///< whose shape the frames have
};

Lead::Lead(const loader::ElsewhereOptions& options)
    : joinPath_(options.joinFile),
      workersLeast_(static_cast<int>(options.spec.resources.dataWorkersMin)),
      workersMost_(static_cast<int>(options.spec.resources.dataWorkersMax)) {}

Status Lead::open(const loader::ElsewhereOptions& options) {
    JoinFile file;
    file.attempt = options.attempt;
    file.token = randomBytes(JoinFile::kTokenBytes);
    if (options.listen.empty()) {
        file.address = strCat(JoinFile::kUnix, socketBeside(joinPath_));
    } else {
        const bool hasPort = options.listen.find(':') != std::string::npos;
        file.address = hasPort ? options.listen : options.listen + ":0";
        ASSIGN_OR_RETURN(file.certificate, certificate::makeCertificate(kCertificateName));
    }
    streamHash_ = spec::streamHash(options.spec);
    planHash_ = options.plan.planHash();
    DoorOptions door;
    door.buildId = options.buildId;
    door.token = file.token;
    door.attempt = options.attempt;
    door.spec = dumpJson(options.spec.toJson());
    door.plan = options.plan.toJsonText();
    door.streamHash = streamHash_;
    door.planHash = planHash_;
    door_ = std::make_unique<Door>(std::move(door), static_cast<DoorKeeper&>(*this));
    ASSIGN_OR_RETURN(server_, DataServer::start(file, *door_));
    RETURN_IF_ERROR(file.write(joinPath_));
    thread_ = startThread("data-lead", [this](const std::stop_token& stop) { run(stop); });
    logInfo("data: workers may join", {{"file", joinPath_}, {"address", file.address}});
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
    server_.reset();
}

void Lead::attach(segment::SegmentDesk& desk, std::shared_ptr<const segment::StreamInput> input) {
    stream::StreamMaster::Options options;
    options.workersLeast = workersLeast_;
    options.workersMost = workersMost_;
    options.aloneNs = workersLeast_ > 0 ? options.aloneNs : 0;
    {
        MutexLock lock(turn_);
        options.firstGeneration = firstGeneration_;
        stream_.emplace(Stream{&desk, std::move(input), stream::StreamMaster(options)});
        for (auto& [link, member] : members_) {
            joinMaster(link, member);
        }
    }
    desk.onChange([this] {
        MutexLock lock(mutex_);
        isDeskNews_ = true;
        changed_.notifyAll();
    });
    post({});
}

void Lead::detach() {
    segment::SegmentDesk* desk = nullptr;
    {
        MutexLock lock(turn_);
        if (!stream_) {
            return;
        }
        desk = stream_->desk;
        stream_.reset();
        v1::WorkerOrders reset;
        reset.set_is_reset(true);
        for (auto& [link, member] : members_) {
            member.id = 0;
            link->send(reset);
        }
    }
    desk->onChange(nullptr);
}

Lead::Figures Lead::figures() {
    MutexLock lock(turn_);
    Figures figures = figures_;
    figures.workers = static_cast<int>(members_.size());
    return figures;
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
    event.report.Swap(&report);
    post(std::move(event));
}

void Lead::closed(const LinkPtr& link) {
    post({Event::Kind::kClosed, link});
}

void Lead::broken(const LinkPtr& link, const Status& why) {
    post({Event::Kind::kBroken, link, {}, why});
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
        if (stream_) {
            turn();
        }
    }
}

void Lead::handle(Event& event) {
    switch (event.kind) {
        case Event::Kind::kWhole:
            if (members_.emplace(event.link, Member()).second) {
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
            released(event.order);
            break;
        case Event::Kind::kChanged:
            break;
    }
}

void Lead::handleReport(const LinkPtr& link, const v1::WorkerReport& report) {
    const auto place = members_.find(link);
    if (place == members_.end()) {
        return;
    }
    Member& member = place->second;
    member.places = static_cast<int>(report.places());
    if (!member.isChecked && !isRightInput(report)) {
        refuse(link, failedPrecondition("work: what this worker computes is stream ",
                                        report.stream_hash(), " of plan ", report.plan_hash(),
                                        ", not ", streamHash_, " of plan ", planHash_,
                                        "; are the files the same where it runs?"));
        return;
    }
    if (!member.isChecked) {
        member.isChecked = true;
        member.threads = static_cast<int>(report.threads());
        logInfo("data: worker joined", {{"worker", link->name}, {"threads", member.threads}});
        joinMaster(link, member);
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
        link->readNext();
        return;
    }
    stream_->master.report(member.id, member.places, steadyNs());
    if (member.isLeaving) {
        stream_->master.leave(member.id);
    }
    for (const v1::OrderName& name : report.begun()) {
        const stream::SegmentOrder order = orderOf(name);
        const auto number = stream_->numbers.find(order.name);
        if (number != stream_->numbers.end()) {
            stream_->master.started({member.id, number->second, order.generation});
        }
    }
    for (const v1::SegmentDone& done : report.done()) {
        handleDone(link, member, done);
        if (!members_.contains(link)) {
            return;
        }
    }
    link->readNext();
}

void Lead::joinMaster(const LinkPtr& link, Member& member) {
    if (stream_ && member.isChecked) {
        member.id = stream_->master.join(link->name, member.places, member.threads, steadyNs());
    }
}

void Lead::handleDone(const LinkPtr& link, const Member& member, const v1::SegmentDone& done) {
    const stream::SegmentOrder answered = orderOf(done.name());
    const auto number = stream_->numbers.find(answered.name);
    const Hand hand{member.id, number == stream_->numbers.end() ? -1 : number->second,
                    answered.generation};
    const bool isKept = stream_->master.holds(hand);
    if (!isKept && !stream_->master.isComputing(hand)) {
        withdraw(link, done.name());  // of an order that was given to another meanwhile
    } else if (done.is_given_up()) {
        stream_->master.gaveBack(hand);
        if (isKept) {
            claimAgain(stream_->segments.at(hand.number));
        }
    } else if (done.code() != 0) {
        failed(link, hand, statusOf(done));
    } else if (!isKept) {
        arrived(link, hand, done);
    }
}

void Lead::arrived(const LinkPtr& link, const Hand& hand, const v1::SegmentDone& done) {
    Segment& segment = stream_->segments.at(hand.number);
    if (!segment.isOurs) {
        claimAgain(segment);
    }
    const auto holder = std::make_shared<Holder>(*this, link, orderOf(done.name()), stream_->input);
    Result<segment::SegmentFacts> facts = factsOf(done.facts());
    auto frames = facts.ok() ? segment::RemoteFrames::make(stream_->input->shape(), segment.order,
                                                           std::move(*facts), holder)
                             : facts.status();
    if (!frames.ok()) {
        refuse(link, frames.status());
        return;
    }
    stream_->master.done(hand, steadyNs());
    segment.keeper = hand;
    segment.isArrived = segment.isOurs && stream_->desk->arrived(*frames);
    if (!segment.isArrived) {
        withdraw(link, done.name());
        forget(hand.number);
    }
}

void Lead::failed(const LinkPtr& link, const Hand& hand, const Status& why) {
    logWarn("data: a segment cannot be computed",
            {{"worker", link->name}, {"why", messageOf(why)}});
    if (isOfTheData(why)) {
        stream_->desk->failed(stream_->segments.at(hand.number).order, why);
        forget(hand.number);
    } else {
        stream_->master.unable(hand);
    }
}

// The desk needs no frame of it any more: it is delivered, or another was.
void Lead::released(const stream::SegmentOrder& order) {
    if (!stream_) {
        return;
    }
    const auto number = stream_->numbers.find(order.name);
    if (number == stream_->numbers.end()) {
        return;
    }
    const Segment& segment = stream_->segments.at(number->second);
    if (!segment.isArrived || !segment.order.isSame(order)) {
        return;
    }
    if (const LinkPtr link = linkOf(segment.keeper.worker)) {
        withdraw(link, nameOf(order, segment.keeper.generation));
    }
    forget(number->second);
}

void Lead::refuse(const LinkPtr& link, const Status& why) {
    if (members_.contains(link)) {
        logWarn("data: refused", {{"worker", link->name}, {"why", messageOf(why)}});
        lose(link, stream::StreamMaster::Loss::kBroken);
    }
    link->close(toGrpc(why));
}

void Lead::lose(const LinkPtr& link, stream::StreamMaster::Loss loss) {
    const stream::WorkerId id = members_.at(link).id;
    members_.erase(link);
    if (stream_ && id != 0) {
        stream_->master.lose(id, loss);
        loseArrived(id);
    }
}

// What it held can be had no more. Claimed again before anybody here begins it.
void Lead::loseArrived(stream::WorkerId id) {
    for (auto& [number, segment] : stream_->segments) {
        if (segment.isArrived && segment.keeper.worker == id) {
            claimAgain(segment);
        }
    }
}

void Lead::claimAgain(Segment& segment) {
    if (segment.isOurs && segment.isArrived) {
        segment.isOurs = segment.isArrived = false;
        stream_->desk->lost(segment.order);
    }
    while (!segment.isOurs && claim()) {
    }
}

void Lead::forget(std::int64_t number) {
    const auto segment = stream_->segments.find(number);
    if (segment != stream_->segments.end()) {
        stream_->master.delivered(number);
        stream_->numbers.erase(segment->second.order.name);
        stream_->segments.erase(segment);
    }
}

// Those that were computed here leave no other trace.
void Lead::forgetPassed() {
    const stream::SegmentName foremost = stream_->desk->state().foremost;
    while (!stream_->numbers.empty() && stream_->numbers.begin()->first < foremost) {
        const std::int64_t number = stream_->numbers.begin()->second;
        const Segment& segment = stream_->segments.at(number);
        if (segment.isArrived) {
            released(stream::SegmentOrder(segment.order));
        } else {
            forget(number);
        }
    }
}

bool Lead::claim() {
    const std::optional<stream::SegmentOrder> order = stream_->desk->claim();
    if (!order) {
        return false;
    }
    const auto [place, isNew] = stream_->numbers.emplace(order->name, stream_->nextNumber);
    Segment& segment = stream_->segments[place->second];
    segment.order = *order;
    segment.isOurs = true;
    if (isNew) {
        stream_->master.add(stream_->nextNumber++, order->files);
    }
    return true;
}

void Lead::turn() {
    const std::int64_t now = steadyNs();
    forgetPassed();
    while (stream_->master.room() > 0 && claim()) {
    }
    act(stream_->master.decide(now));
    const bool computesHere = stream_->master.isAlone();
    if (computesHere != stream_->computesHere) {
        stream_->computesHere = computesHere;
        stream_->desk->setComputesHere(computesHere);
    }
    watchAppetite(now);
}

Lead::LinkPtr Lead::linkOf(stream::WorkerId id) const {
    for (const auto& [link, member] : members_) {
        if (member.id == id) {
            return link;
        }
    }
    return nullptr;
}

void Lead::withdraw(const LinkPtr& link, const v1::OrderName& name) {
    v1::WorkerOrders message;
    *message.add_withdrawn() = name;
    link->send(message);
}

void Lead::act(const stream::StreamMaster::Decisions& decisions) {
    const auto dismiss = [this](const std::vector<stream::WorkerId>& workers, const Status& why)
                             MR_REQUIRES(turn_) {
                                 for (const stream::WorkerId id : workers) {
                                     if (const LinkPtr link = linkOf(id)) {
                                         refuse(link, why);
                                     }
                                 }
                             };
    dismiss(decisions.silent, deadlineExceeded("work: no report came for too long; its segments "
                                               "are given to others"));
    dismiss(decisions.unfit, failedPrecondition("work: unable to compute too many segments in "
                                                "turn; the reasons stand in its own log"));
    std::map<LinkPtr, v1::WorkerOrders> out;
    for (const Hand& hand : decisions.withdrawn) {
        const auto segment = stream_->segments.find(hand.number);
        const LinkPtr link = linkOf(hand.worker);
        if (link != nullptr && segment != stream_->segments.end()) {
            *out[link].add_withdrawn() = nameOf(segment->second.order, hand.generation);
        }
    }
    for (const Hand& hand : decisions.orders) {
        order(hand, out);
    }
    for (const stream::WorkerId id : decisions.farewell) {
        if (const LinkPtr link = linkOf(id)) {
            out[link].set_is_end(true);
        }
    }
    for (const auto& [link, orders] : out) {
        link->send(orders);
    }
    for (const std::int64_t number : decisions.here) {
        stream_->desk->claimHere(stream_->segments.at(number).order.name);
    }
    for (const stream::StreamMaster::Deadly& deadly : decisions.deadly) {
        const stream::SegmentOrder& order = stream_->segments.at(deadly.number).order;
        std::string workers;
        for (const std::string& worker : deadly.workers) {
            workers += (workers.empty() ? "" : ", ") + worker;
        }
        stream_->desk->failed(
            order, dataLoss(stream_->desk->describe(order.name), ": data workers died computing ",
                            "it, one after the other (", workers, "); it is not tried in the ",
                            "feed, which would die as well. Look at their logs and these files"));
    }
}

// Where a thread of the feed has begun it meanwhile it is the feed's.
void Lead::order(const Hand& hand, std::map<LinkPtr, v1::WorkerOrders>& out) {
    const auto segment = stream_->segments.find(hand.number);
    const LinkPtr link = linkOf(hand.worker);
    if (segment == stream_->segments.end() || link == nullptr) {
        return;
    }
    if (!segment->second.isOurs) {
        claimAgain(segment->second);
    }
    if (!segment->second.isOurs) {
        forget(hand.number);
        return;
    }
    v1::SegmentOrder& message = *out[link].add_orders();
    toMessage(segment->second.order, message);
    message.mutable_name()->set_generation(hand.generation);
    firstGeneration_ = std::max(firstGeneration_, hand.generation + 1);
}

void Lead::watchAppetite(std::int64_t nowNs) {
    if (stream_->desk->state().isForemostOut) {
        starvedNs_ += static_cast<double>(nowNs - lastTurnNs_);
    }
    lastTurnNs_ = nowNs;
    if (nowNs - adviceNs_ >= kAdviceNs) {
        const double share = starvedNs_ / static_cast<double>(nowNs - adviceNs_);
        figures_.workersWanted = stream_->master.adviseWorkers({share}, nowNs);
        starvedNs_ = 0;
        adviceNs_ = nowNs;
    }
}

}  // namespace millrace::data
