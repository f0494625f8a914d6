// The daemon without runs: start, socket, answers, shutdown.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <gmock/gmock.h>

#include "backend/core/ids.h"
#include "backend/system/unix_socket.h"
#include "tests/integration/daemon/daemon_place.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST_F(DaemonPlace, ItStartsInTheBackgroundAndAnswers) {
    up();
    v1::HandshakeRequest request;
    request.set_protocol_version(1);
    v1::HandshakeResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(nodes->Handshake(&context, request, &response).ok());
    EXPECT_EQ(response.protocol_version(), 1u);
    EXPECT_EQ(status().pid(), daemonPid());
}

TEST_F(DaemonPlace, ItsDirectoriesAndSocketArePrivate) {
    up();
    struct stat info{};
    ASSERT_EQ(::stat(home_.path("run").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat(socketPath().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DaemonPlace, ASecondDaemonIsRefusedInOneSentence) {
    up();
    const SubprocessOutput second = runDaemon();
    EXPECT_EQ(second.exitCode, 1);
    EXPECT_THAT(second.err, HasSubstr("already serves the socket"));
    EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
    EXPECT_EQ(status().pid(), daemonPid());
}

TEST_F(DaemonPlace, GarbageOnTheSocketDoesNoHarm) {
    up();
    const int pid = daemonPid();
    for (int i = 0; i < 30; ++i) {
        const Result<UniqueFd> fd = connectUnix(socketPath());
        ASSERT_TRUE(fd.ok()) << fd.status();
        const std::string bytes =
            i % 3 == 0 ? "GET / HTTP/1.1\r\n\r\n" : (i % 3 == 1 ? randomBytes(20'000) : "");
        [[maybe_unused]] const ssize_t n =
            ::send(fd->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    EXPECT_EQ(status().pid(), pid);
}

TEST_F(DaemonPlace, SigtermEndsItAndRemovesTheSocket) {
    up();
    ::kill(daemonPid(), SIGTERM);
    EXPECT_TRUE(waitUntil([&] { return processes().empty(); }, 20));
    EXPECT_FALSE(std::filesystem::exists(socketPath()));
}

TEST_F(DaemonPlace, DownAnswersAndLeavesNothing) {
    up();
    EXPECT_TRUE(down().ok());
    EXPECT_TRUE(waitUntil([&] { return processes().empty(); }, 20));
}

TEST_F(DaemonPlace, AKilledDaemonIsFollowedByAnother) {
    up();
    const int first = daemonPid();
    ::kill(first, SIGKILL);
    ASSERT_TRUE(waitUntil([&] { return processes().empty(); }, 20));
    up();
    EXPECT_NE(status().pid(), first);
}

TEST_F(DaemonPlace, AForeignAddressWithoutTlsIsRefused) {
    const SubprocessOutput output = runDaemon({"--socket", "0.0.0.0:0"});
    EXPECT_EQ(output.exitCode, 2);
    EXPECT_THAT(output.err, HasSubstr("needs mutual TLS"));
}

TEST_F(DaemonPlace, WithoutWorkersItSaysWhereItLooked) {
    const SubprocessOutput output = runDaemon({"--bin-dir", home_.path("nowhere")});
    EXPECT_EQ(output.exitCode, 1);
    EXPECT_THAT(output.err, HasSubstr("millrace-exec"));
}

TEST_F(DaemonPlace, TelemetryComesOnceASecondAndEndsAsAsked) {
    up();
    v1::WatchTelemetryRequest request;
    request.set_samples(2);
    grpc::ClientContext context;
    const auto reader = nodes->WatchTelemetry(&context, request);
    v1::NodeSample first, second, none;
    ASSERT_TRUE(reader->Read(&first));
    ASSERT_TRUE(reader->Read(&second));
    EXPECT_FALSE(reader->Read(&none));
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_GT(second.time_ms(), first.time_ms());
    EXPECT_TRUE(second.has_cpu_percent());
    EXPECT_TRUE(second.has_memory_total_bytes());
}

TEST_F(DaemonPlace, UnknownRunsAndBadFiltersAreSentences) {
    up();
    v1::GetRunRequest get;
    get.set_run("r-nobody");
    v1::GetRunResponse answer;
    grpc::ClientContext first, second, third;
    EXPECT_EQ(runs->Get(&first, get, &answer).error_code(), grpc::StatusCode::NOT_FOUND);
    v1::ListRunsRequest list;
    list.set_filter("metrics.loss <");
    v1::ListRunsResponse page;
    const grpc::Status status = runs->List(&second, list, &page);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("filter"));
    v1::LogsRequest logs;
    logs.set_run("r-nobody");
    const auto reader = runs->Logs(&third, logs);
    v1::LogChunk chunk;
    EXPECT_FALSE(reader->Read(&chunk));
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonPlace, ASpecOfTenMegabytesIsRefused) {
    up();
    v1::SubmitRequest request;
    request.set_spec_text(std::string(10 << 20, '#'));
    request.set_base_dir("/tmp");
    v1::SubmitResponse response;
    grpc::ClientContext context;
    const grpc::Status status = runs->Submit(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("at most"));
}

TEST_F(DaemonPlace, AnIdleWatcherHoldsNothingUp) {
    up();
    grpc::ClientContext context;
    const auto watch = runs->Watch(&context, {});
    v1::RunUpdate update;
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_TRUE(update.is_snapshot_end());
    ::kill(daemonPid(), SIGTERM);
    EXPECT_FALSE(watch->Read(&update));
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(waitUntil([&] { return processes().empty(); }, 20));
}

}  // namespace
}  // namespace millrace
