// Workers that pretend: the feed refuses each and names it, and the stream stays the same.
#include <atomic>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "backend/core/thread.h"
#include "daemon/worker/data/lead.h"
#include "daemon/worker/data/messages.h"
#include "daemon/worker/data/worker_session.h"
#include "daemon/worker/relay/follow_link.h"
#include "tests/support/poll.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::data {
namespace {

constexpr char kBuild[] = "00112233445566aa";

/// A worker built from the parts of a real one that sends false messages.
class Liar {
 public:
    struct Lies {
        bool changesAByte = false, saysOtherPlan = false, answersOtherGenerations = false;
    };
    Liar(const transport::JoinFile& file, const Joined& joined, const segment::StreamInput& input,
         segment::BufferPool& pool, segment::StageCounters& counters, Lies lies,
         std::shared_ptr<const segment::StreamInput> shared)
        : lies_(lies),
          sender_([this](const stream::SegmentOrder& order,
                         std::int64_t frame) { return frameOf(order, frame); },
                  [] {}) {
        work_ = Work::make({[this](v1::WorkerOrders& orders) {
                                for (const v1::SegmentOrder& order : orders.orders()) {
                                    server_->order(orderOf(order));
                                }
                                work_->readNext();
                            },
                            [] {}});
        server_ = std::make_unique<segment::SegmentServer>(
            std::move(shared), segment::SegmentServerOptions{}, pool, counters,
            [](const stream::SegmentOrder&) {},
            [this](const segment::SegmentDone& done) { answer(done); });
        sender_.start(*transport::openChannel(file), joined.session);
        work_->context().AddMetadata(kSessionKey, joined.session);
        const auto stub = v1::Data::NewStub(*transport::openChannel(file));
        work_->start([&stub](grpc::ClientContext* context, auto* reactor) {
            stub->async()->Work(context, reactor);
        });
        v1::WorkerReport first;
        first.set_stream_hash(input.streamHash());
        first.set_plan_hash(lies.saysOtherPlan ? std::string(32, '0') : input.planHash());
        first.set_places(4);
        first.set_threads(1);
        work_->send(std::move(first));
        work_->readNext();
    }
    ~Liar() {
        sender_.close();
        work_->close();
        work_->waitDone();
        server_.reset();
    }
    /// Waits for the end of the session; returns the feed's reason.
    Status end() {
        work_->waitDone();
        return transport::toStatus(work_->status());
    }
    std::int64_t numAnswers() const { return answers_; }

 private:
    using Work = transport::ClientDuplex<v1::WorkerOrders, v1::WorkerReport>;

    void send(const segment::SegmentDone& done) {
        v1::WorkerReport report;
        report.set_places(4);
        toMessage(done, *report.add_done());
        work_->send(std::move(report));
    }
    void answer(segment::SegmentDone done) {
        ++answers_;
        if (lies_.answersOtherGenerations) {
            const stream::SegmentOrder order = done.order;
            for (const std::uint32_t generation : {order.generation + 1, order.generation + 7}) {
                done.order.generation = generation;
                send(done);
            }
            done.order = order;
            send(done);
        }
        send(done);  // also twice
    }
    std::optional<segment::CodedFrame> frameOf(const stream::SegmentOrder& order,
                                               std::int64_t frame) const {
        auto coded = server_->frame(order, frame);
        if (coded && lies_.changesAByte) {
            auto bytes =
                std::make_shared<std::vector<std::byte>>(coded->bytes.begin(), coded->bytes.end());
            bytes->at(bytes->size() / 2) ^= std::byte{1};
            return segment::CodedFrame{bytes, *bytes};
        }
        return coded;
    }

    const Lies lies_;
    std::atomic<std::int64_t> answers_{0};
    std::shared_ptr<Work> work_;
    std::unique_ptr<segment::SegmentServer> server_;
    FrameSender sender_;
};

class LiarsTest : public segment::StreamTest {
 protected:
    void SetUp() override {
        writeCsv();
        input_ = open(specText(batchText()));
        ASSERT_TRUE(run(input_, expected_, 1).ok());
        options_.joinFile = directory_ / "data.join";
        options_.attempt = 4;
        options_.buildId = kBuild;
        options_.spec = input_->spec();
        options_.spec.resources.dataWorkersMin = 1;
        options_.spec.resources.dataWorkersMax = 4;
        options_.plan = input_->plan();
        auto lead = Lead::start(options_);
        ASSERT_TRUE(lead.ok()) << lead.status();
        lead_ = std::move(*lead);
        file_ = *transport::JoinFile::read(options_.joinFile);
    }

    Status refusal(const transport::JoinFile& file, const std::string& build = kBuild) {
        const auto joined = join(file, build);
        EXPECT_FALSE(joined.ok());
        return joined.status();
    }

    /// Runs the stream with a false worker, then adds an honest one.
    void runWith(const std::function<void(const Joined&)>& liar) {
        segment::SequencerOptions options;
        options.epochs = 2;
        options.hasDeliveryThread = true;
        options.elsewhere = {64, std::int64_t{1} << 26};
        segment::RememberingSink sink;
        auto sequencer = segment::Sequencer::make(input_, options, pool_, counters_, sink);
        ASSERT_TRUE(sequencer.ok()) << sequencer.status();
        (*sequencer)->queue().setComputesHere(false);
        lead_->attach((*sequencer)->queue(), input_);
        Status status;
        std::jthread runner = startThread(
            "runner", [&](std::stop_token stop) { status = (*sequencer)->run(std::move(stop)); });
        const auto joined = join(file_, kBuild);
        ASSERT_TRUE(joined.ok()) << joined.status();
        liar(*joined);
        const auto honest = join(file_, kBuild);
        ASSERT_TRUE(honest.ok()) << honest.status();
        const auto engine = Engine::make(*honest, 1, 0);
        ASSERT_TRUE(engine.ok()) << engine.status();
        const auto stay = WorkerSession::begin(file_, *honest, **engine);
        ASSERT_TRUE(stay.ok()) << stay.status();
        std::jthread reports = startThread("reports", [&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                (*stay)->report();
                test::pausePolling(std::chrono::milliseconds(200));
            }
        });
        runner.join();
        lead_->detach();
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(sink.batches(), expected_.batches());
    }

    std::shared_ptr<const segment::StreamInput> input_;
    segment::RememberingSink expected_;
    loader::ElsewhereOptions options_;
    std::unique_ptr<Lead> lead_;
    transport::JoinFile file_;
};

TEST_F(LiarsTest, AnotherBuildIsRefusedByName) {
    const Status status = refusal(file_, "ffffffffffffffff");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(status).find("build ffffffffffffffff came to build 00112233445566aa"),
              std::string::npos)
        << status;
}

TEST_F(LiarsTest, AnotherAttemptIsRefusedByName) {
    transport::JoinFile file = file_;
    file.attempt = 3;
    EXPECT_NE(messageOf(refusal(file)).find("attempt 3 came to attempt 4"), std::string::npos);
}

TEST_F(LiarsTest, AnotherTokenIsRefusedAndLearnsNothingElse) {
    transport::JoinFile file = file_;
    file.token[7] ^= 1;
    file.attempt = 99;
    const Status status = refusal(file, "other");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
    EXPECT_EQ(messageOf(status).find("99"), std::string::npos) << status;
}

/// The answer to a relay that asks for a ring with this file.
Status ringRefusal(const transport::JoinFile& file, const std::string& build) {
    const auto channel = transport::openChannel(file);
    EXPECT_TRUE(channel.ok()) << channel.status();
    grpc::ClientContext context;
    const auto call = v1::Data::NewStub(*channel)->Ring(&context);
    v1::RingWord word;
    *word.mutable_join() = relay::requestOf(file, build);
    word.set_hello("{}");
    call->Write(word);
    v1::RingEntries none;
    EXPECT_FALSE(call->Read(&none));
    return transport::toStatus(call->Finish());
}

Status followRefusal(const transport::JoinFile& file, const std::string& build) {
    const auto link = relay::FollowLink::open(
        file, relay::requestOf(file, build), [] {}, [](const v1::MovedFrames&) {});
    EXPECT_TRUE(link.ok()) << link.status();
    EXPECT_TRUE(test::eventually([&] { return (*link)->isOver(); }));
    EXPECT_FALSE((*link)->answer());
    return (*link)->end();
}

TEST_F(LiarsTest, RelaysThatAreNotWhatTheySayAreRefusedByName) {
    for (const auto& refusalOf : {ringRefusal, followRefusal}) {
        EXPECT_NE(messageOf(refusalOf(file_, "ffffffffffffffff"))
                      .find("build ffffffffffffffff came to build 00112233445566aa"),
                  std::string::npos);
        transport::JoinFile file = file_;
        file.attempt = 3;
        EXPECT_NE(messageOf(refusalOf(file, kBuild)).find("attempt 3 came to attempt 4"),
                  std::string::npos);
        file.relayToken[7] ^= 1;
        EXPECT_EQ(refusalOf(file, kBuild).code(), absl::StatusCode::kUnauthenticated);
    }
}

TEST_F(LiarsTest, ADataWorkersTokenOpensNoRing) {
    for (const auto& refusalOf : {ringRefusal, followRefusal}) {
        transport::JoinFile worker = file_.ofDataWorker();
        EXPECT_TRUE(worker.relayToken.empty());
        worker.relayToken = worker.token;  // a false program shows the token that it has
        const Status status = refusalOf(worker, kBuild);
        EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
        EXPECT_NE(messageOf(status).find("a data worker's"), std::string::npos) << status;
    }
    transport::JoinFile relay = file_;
    relay.token = relay.relayToken;
    EXPECT_EQ(join(relay, kBuild).status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_TRUE(join(file_.ofDataWorker(), kBuild).ok());
}

TEST_F(LiarsTest, WhoDidNotJoinGetsNoOrders) {
    grpc::ClientContext context;
    context.AddMetadata(kSessionKey, "0123456789abcdef");
    const auto stub = v1::Data::NewStub(*transport::openChannel(file_));
    const auto call = stub->Work(&context);
    v1::WorkerOrders orders;
    EXPECT_FALSE(call->Read(&orders));
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(LiarsTest, AnotherPlanIsRefusedByName) {
    runWith([&](const Joined& joined) {
        Liar liar(file_, joined, *input_, pool_, counters_, {.saysOtherPlan = true}, input_);
        const Status status = liar.end();
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_NE(messageOf(status).find("plan 00000000000000000000000000000000"),
                  std::string::npos)
            << status;
    });
}

TEST_F(LiarsTest, AChangedByteEndsTheStayAndIsSeenByNobody) {
    runWith([&](const Joined& joined) {
        Liar liar(file_, joined, *input_, pool_, counters_, {.changesAByte = true}, input_);
        EXPECT_EQ(liar.end().code(), absl::StatusCode::kDataLoss) << liar.end();
        EXPECT_GT(liar.numAnswers(), 0);
    });
}

TEST_F(LiarsTest, AnswersOfOtherGenerationsAndSecondOnesCountForNothing) {
    std::unique_ptr<Liar> liar;
    runWith([&](const Joined& joined) {
        liar = std::make_unique<Liar>(file_, joined, *input_, pool_, counters_,
                                      Liar::Lies{.answersOtherGenerations = true}, input_);
        EXPECT_TRUE(test::eventually([&] { return liar->numAnswers() > 2; }));
    });
    EXPECT_GT(liar->numAnswers(), 2);
    liar.reset();
}

TEST_F(LiarsTest, OverTlsTheFeedShowsTheCertificateAndAMemberTheToken) {
    options_.joinFile = directory_ / "tls.join";
    options_.listen = "127.0.0.1";
    const auto lead = Lead::start(options_);
    ASSERT_TRUE(lead.ok()) << lead.status();
    const transport::JoinFile file = *transport::JoinFile::read(options_.joinFile);
    EXPECT_TRUE(join(file, kBuild).ok());
    transport::JoinFile stranger = file;
    stranger.certificate = *certificate::makeCertificate(transport::kCertificateName);
    EXPECT_EQ(join(stranger, kBuild).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(file.certificate.keyPem, "") << "the file does not permit to listen as the feed";
    transport::JoinFile halfMember = file;
    halfMember.token[7] ^= 1;
    halfMember.relayToken.clear();
    EXPECT_TRUE(absl::IsUnauthenticated(join(halfMember, kBuild).status()));
}

}  // namespace
}  // namespace millrace::data
