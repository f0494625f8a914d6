#include "app/client/grpc_client.h"

#include <atomic>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/system/unix_socket.h"
#include "millrace/v1/daemon.grpc.pb.h"
#include "millrace/v1/nodes.grpc.pb.h"
#include "millrace/v1/runs.grpc.pb.h"
#include "proto/convert/rpc_options.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::client {
namespace {

using ::testing::HasSubstr;

// In the daemon's words.
grpc::Status own(grpc::StatusCode code, const std::string& sentence) {
    return {code, sentence, std::string(rpc::kDaemonsWord)};
}

class FakeNodes final : public v1::Nodes::Service {
 public:
    grpc::Status Handshake(grpc::ServerContext*, const v1::HandshakeRequest*,
                           v1::HandshakeResponse* reply) override {
        reply->set_version("9.9.9");
        reply->set_protocol_version(protocol);
        return grpc::Status::OK;
    }
    std::uint32_t protocol = 1;
};

class FakeRuns final : public v1::Runs::Service {
 public:
    grpc::Status Get(grpc::ServerContext* context, const v1::GetRunRequest* request,
                     v1::GetRunResponse* reply) override {
        if (request->run() == "slow") {
            return own(grpc::StatusCode::DEADLINE_EXCEEDED, "s.yaml: did not end within 120 s");
        }
        if (request->run() == "busy") {
            ++numBusy;
            return own(grpc::StatusCode::UNAVAILABLE, "cannot connect a socket to the engine");
        }
        isHanging = request->run() == "endless";
        isHanging.notify_all();
        while (isHanging && !context->IsCancelled()) {
            test::pausePolling();  // gRPC has no wait
        }
        if (request->run() != "r-abc23") {
            return own(grpc::StatusCode::NOT_FOUND, "no run '" + request->run() + "'");
        }
        reply->mutable_summary()->set_id("r-abc23");
        reply->mutable_summary()->set_state(v1::RUN_STATE_RUNNING);
        reply->mutable_summary()->mutable_progress()->set_phase(v1::PHASE_EVALUATING);
        v1::Receipt* receipt = reply->mutable_receipt();
        receipt->set_json(R"({"rows_kept":1})");
        reply->set_weights_hash("beef");
        v1::StepReason* reason = receipt->add_steps()->add_reasons();
        reason->set_name("no partner");
        reason->set_rows(12);
        v1::VocabularyReceipt* vocabulary = receipt->add_vocabularies();
        vocabulary->set_feature("genres");
        vocabulary->set_ids(400);
        vocabulary->set_unknown(10);
        return grpc::Status::OK;
    }
    grpc::Status WatchMetrics(grpc::ServerContext* context, const v1::WatchMetricsRequest* request,
                              grpc::ServerWriter<v1::MetricChunk>* writer) override {
        v1::MetricChunk chunk;
        chunk.add_lines()->set_number(request->after().line() + 1);
        writer->Write(chunk);
        while (request->run() == "endless" && !context->IsCancelled()) {
            test::pausePolling();  // gRPC has no wait
        }
        chunk.set_is_end(true);
        writer->Write(chunk);
        return grpc::Status::OK;
    }
    std::atomic<bool> isHanging{false};
    std::atomic<int> numBusy{0};
};

// A daemon's socket at a path that is too long for sun_path.
class FakeDaemon {
 public:
    explicit FakeDaemon(const std::string& path) : listener_(*listenUnix(path)) {
        grpc::ServerBuilder builder;
        builder.RegisterService(&nodes);
        builder.RegisterService(&runs);
        server_ = builder.BuildAndStart();
        acceptor_ = startThread("accept", [this](std::stop_token) {
            for (int fd; (fd = ::accept(listener_.get(), nullptr, nullptr)) >= 0;) {
                ::fcntl(fd, F_SETFL, O_NONBLOCK);
                grpc::AddInsecureChannelFromFd(server_.get(), fd);
            }
        });
    }
    ~FakeDaemon() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        acceptor_.join();
        server_->Shutdown(std::chrono::system_clock::now());
    }
    FakeNodes nodes;
    FakeRuns runs;

 private:
    UniqueFd listener_;
    std::unique_ptr<grpc::Server> server_;
    std::jthread acceptor_;
};

class GrpcClientTest : public testing::Test {
 protected:
    GrpcClientTest() {
        const std::string deep = directory_ / std::string(100, 'd') + "/" + std::string(60, 'e');
        std::filesystem::create_directories(deep);
        path_ = deep + "/d.sock";
        GrpcClientOptions options;
        options.address.unixPath = path_;
        client_ = makeGrpcClient(options);
    }
    tests::TempDir directory_;
    std::string path_;
    std::unique_ptr<DaemonClient> client_;
};

TEST_F(GrpcClientTest, ASocketInADeepDirectoryIsReached) {
    const FakeDaemon daemon(path_);
    const auto run = client_->get("r-abc23");
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->summary.state, values::RunState::kRunning);
    EXPECT_EQ(run->summary.progress.phase, values::Phase::kEvaluating);
    EXPECT_EQ(run->weightsHash, "beef");
    EXPECT_FALSE(run->receipt->json.empty());
    ASSERT_EQ(run->receipt->steps.size(), 1U);
    ASSERT_EQ(run->receipt->steps[0].reasons.size(), 1U);
    EXPECT_EQ(run->receipt->steps[0].reasons[0].name, "no partner");
    EXPECT_EQ(run->receipt->steps[0].reasons[0].rows, 12);
    ASSERT_EQ(run->receipt->vocabularies.size(), 1U);
    EXPECT_EQ(run->receipt->vocabularies[0].feature, "genres");
    EXPECT_EQ(run->receipt->vocabularies[0].ids, 400);
    EXPECT_EQ(run->receipt->vocabularies[0].unknownPercent(), 2.5);
}

TEST_F(GrpcClientTest, WithoutADaemonTheSentenceNamesAddressAndWayOut) {
    const auto run = client_->get("r-abc23");
    EXPECT_EQ(run.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(messageOf(run.status())), HasSubstr("unix:" + path_));
    EXPECT_THAT(std::string(messageOf(run.status())), HasSubstr("'millrace up' starts one"));
}

TEST_F(GrpcClientTest, TheDaemonsOwnErrorsKeepCodeAndSentence) {
    const FakeDaemon daemon(path_);
    const auto run = client_->get("r-nope");
    EXPECT_EQ(run.status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(messageOf(run.status()), "no run 'r-nope'");
    const auto slow = client_->get("slow");
    EXPECT_EQ(slow.status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(messageOf(slow.status()), "s.yaml: did not end within 120 s");
}

TEST_F(GrpcClientTest, WhatTheDaemonSaysOfASocketIsNoLostConnection) {
    const FakeDaemon daemon(path_);
    ASSERT_TRUE(client_->get("r-abc23").ok());
    const Status busy = client_->get("busy").status();
    EXPECT_EQ(busy.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(messageOf(busy), "cannot connect a socket to the engine");
    EXPECT_EQ(daemon.runs.numBusy.load(), 1) << "an answer is not asked for again";
}

TEST_F(GrpcClientTest, BytesThatAreNoTextAreRefusedBeforeTheyAreSent) {
    const Status note = client_->setNote("r-abc23", "ok\ncaf\xe9").status();
    EXPECT_TRUE(absl::IsInvalidArgument(note)) << note;
    EXPECT_THAT(std::string(messageOf(note)), HasSubstr("note, line 2, character 4: byte 0xe9"));
    values::CheckRequest check;
    check.spec.text = "a: \xff";
    EXPECT_THAT(std::string(messageOf(client_->check(check).status())),
                HasSubstr("spec text, line 1"));
    values::SubmitRequest submit;
    submit.tags["team"] = "\xc3";
    EXPECT_THAT(std::string(messageOf(client_->submit(submit).status())),
                HasSubstr("value, line 1"));
}

TEST_F(GrpcClientTest, ARestartedDaemonIsFoundAgainByTheNextCall) {
    {
        const FakeDaemon daemon(path_);
        ASSERT_TRUE(client_->get("r-abc23").ok());
    }
    EXPECT_EQ(client_->get("r-abc23").status().code(), absl::StatusCode::kUnavailable);
    const FakeDaemon daemon(path_);
    EXPECT_TRUE(client_->get("r-abc23").ok());
}

TEST_F(GrpcClientTest, ANewerProtocolIsNamed) {
    FakeDaemon daemon(path_);
    ASSERT_TRUE(client_->handshake().ok());
    daemon.nodes.protocol = 7;
    const auto handshake = client_->handshake();
    EXPECT_EQ(handshake.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(messageOf(handshake.status())),
                HasSubstr("millraced 9.9.9) speaks protocol 7, this millrace speaks 1"));
}

TEST_F(GrpcClientTest, AnOlderDaemonThatLacksACallIsSaidToBeOlder) {
    const FakeDaemon daemon(path_);
    const auto status = client_->status();
    EXPECT_THAT(std::string(messageOf(status.status())), HasSubstr("older than this millrace"));
}

TEST_F(GrpcClientTest, AStreamGivesItsItemsThenItsEndOnce) {
    const FakeDaemon daemon(path_);
    Mutex mutex;
    CondVar changed;
    std::vector<std::int64_t> lines;
    int ends = 0;
    const auto stream = client_->watchMetrics({.run = "r-abc23", .after = {1, 41}},
                                              {[&](values::MetricChunk chunk) {
                                                   MutexLock lock(mutex);
                                                   lines.push_back(chunk.lines.at(0).number);
                                               },
                                               [&](const Status& status) {
                                                   EXPECT_TRUE(status.ok()) << status;
                                                   MutexLock lock(mutex);
                                                   ++ends;
                                                   changed.notifyAll();
                                               }});
    MutexLock lock(mutex);
    while (ends == 0) {
        changed.wait(mutex);
    }
    EXPECT_THAT(lines, ::testing::ElementsAre(42, 42));
    EXPECT_EQ(ends, 1);
}

TEST_F(GrpcClientTest, CancellingEndsTheCallsUnderWayAndRefusesThoseThatCome) {
    const FakeDaemon daemon(path_);
    Status ended;
    const auto start = std::chrono::steady_clock::now();
    {
        const std::jthread caller([&] { ended = client_->get("endless").status(); });
        daemon.runs.isHanging.wait(false);
        client_->cancelAll();
    }
    EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(client_->get("r-abc23").status().code(), absl::StatusCode::kCancelled);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(GrpcClientTest, DroppingAnEndlessStreamEndsItAndNoCallbackFollows) {
    const FakeDaemon daemon(path_);
    std::atomic<int> calls{0}, ends{0};
    auto stream = client_->watchMetrics({"endless"}, {[&](values::MetricChunk) { ++calls; },
                                                      [&](const Status& status) {
                                                          EXPECT_EQ(status.code(),
                                                                    absl::StatusCode::kCancelled);
                                                          ++ends;
                                                      }});
    stream.reset();
    EXPECT_EQ(ends.load(), 1);
    EXPECT_LE(calls.load(), 1);
}

TEST_F(GrpcClientTest, AStreamWithoutADaemonEndsWithTheSameSentence) {
    Status ended;
    {
        const auto stream = client_->watchRuns(
            {}, {[](values::RunUpdate) {}, [&](const Status& status) { ended = status; }});
    }
    EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcClientTest, HalfOfATlsSetIsRefused) {
    GrpcClientOptions options;
    options.address = *Address::parse("localhost:1");
    options.tls.authority = "/ca.pem";
    const auto run = makeGrpcClient(options)->get("r-abc23");
    EXPECT_THAT(std::string(messageOf(run.status())), HasSubstr("belong together"));
}

// Another user with write access to the directory could have put a socket there.
TEST(GrpcClient, SaysNothingToASocketInADirectoryThatOthersMayWriteTo) {
    const tests::TempDir dir;
    ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
    const auto listener = listenUnix(dir / "d.sock");
    ASSERT_TRUE(listener.ok());
    GrpcClientOptions options;
    options.address.unixPath = dir / "d.sock";
    const auto client = makeGrpcClient(options);
    const Status status = client->handshake().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("others may write here"));
    ::fcntl(listener->get(), F_SETFL, O_NONBLOCK);
    EXPECT_LT(::accept(listener->get(), nullptr, nullptr), 0) << "nobody came";
}

}  // namespace
}  // namespace millrace::client
