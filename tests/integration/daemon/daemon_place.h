#pragma once
// A test with its own millraced and stubs of the daemon's services.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <millrace/v1/daemon.grpc.pb.h>
#include <millrace/v1/nodes.grpc.pb.h>
#include <millrace/v1/runs.grpc.pb.h>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/support/daemon_home.h"
#include "tests/support/poll.h"

namespace millrace {

/// Polls until `condition` holds; false after `seconds`.
inline bool waitUntil(const std::function<bool()>& condition, double seconds = 60) {
    return test::eventually(condition, std::chrono::duration_cast<std::chrono::milliseconds>(
                                           std::chrono::duration<double>(seconds)));
}

class DaemonPlace : public ::testing::Test {
 protected:
    DaemonPlace() : home_(MILLRACE_BIN_DIR), hasWorkers_(home_.hasWorkers()) {}

    std::string socketPath() const { return home_.socketPath(); }
    SubprocessOutput runDaemon(const std::vector<std::string>& extra = {}) {
        const Result<SubprocessOutput> output = home_.startDaemon(extra);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }
    void up() {
        const SubprocessOutput output = runDaemon();
        ASSERT_EQ(output.exitCode, 0) << output.err;
        connect();
    }
    void connect() {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        auto channel = grpc::CreateCustomChannel("unix:" + socketPath(),
                                                 grpc::InsecureChannelCredentials(), arguments);
        runs = v1::Runs::NewStub(channel);
        nodes = v1::Nodes::NewStub(channel);
        daemon = v1::Daemon::NewStub(channel);
    }
    int daemonPid() const { return home_.daemonPid(); }
    v1::DaemonStatusResponse status() {
        v1::DaemonStatusResponse response;
        grpc::ClientContext context;
        const grpc::Status status = daemon->Status(&context, {}, &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return response;
    }
    grpc::Status down(int graceSeconds = 10) {
        v1::DownRequest request;
        request.set_grace_seconds(static_cast<std::uint32_t>(graceSeconds));
        v1::DownResponse response;
        grpc::ClientContext context;
        return daemon->Down(&context, request, &response);
    }
    v1::GetRunResponse get(const std::string& run) {
        v1::GetRunRequest request;
        request.set_run(run);
        v1::GetRunResponse response;
        grpc::ClientContext context;
        const grpc::Status status = runs->Get(&context, request, &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return response;
    }
    std::vector<int> processes(const std::string& program = "") const {
        return home_.processes(program);
    }

    tests::DaemonHome home_;
    const bool hasWorkers_;
    std::unique_ptr<v1::Runs::Stub> runs;
    std::unique_ptr<v1::Nodes::Stub> nodes;
    std::unique_ptr<v1::Daemon::Stub> daemon;
};

}  // namespace millrace
