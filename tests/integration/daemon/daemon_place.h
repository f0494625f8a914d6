#pragma once
// A millraced of a test's own: temporary directories, a unix socket, stubs; nothing of it is left.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <millrace/v1/daemon.grpc.pb.h>
#include <millrace/v1/nodes.grpc.pb.h>
#include <millrace/v1/runs.grpc.pb.h>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "backend/core/files.h"
#include "backend/core/subprocess.h"
#include "tests/support/temp_dir.h"

namespace millrace {

/// Polls until `condition` holds; false after `seconds`.
inline bool waitUntil(const std::function<bool()>& condition, double seconds = 60) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

class DaemonPlace : public ::testing::Test {
 protected:
    DaemonPlace() : marker_("MILLRACE_DAEMON_TEST=" + dir_.path()) {
        std::filesystem::create_directories(dir_ / "bin");
        for (const char* name :
             {"millraced", "millrace-exec", "millrace-loader", "millrace-trainer"}) {
            const std::string real = strCat(MILLRACE_BIN_DIR, "/", name);
            const bool isBuilt = std::filesystem::exists(real);
            hasWorkers_ = hasWorkers_ && isBuilt;
            std::filesystem::create_symlink(isBuilt ? real : "/bin/false",
                                            dir_ / (std::string("bin/") + name));
        }
    }
    ~DaemonPlace() override {
        for (int round = 0; round < 3; ++round) {
            for (const int pid : processes()) {
                ::kill(pid, SIGKILL);
            }
        }
    }

    std::string socketPath() const { return dir_ / "run/d.sock"; }
    SubprocessOutput runDaemon(std::vector<std::string> extra = {}) {
        SubprocessOptions options;
        options.argv = {dir_ / "bin/millraced",
                        "--socket",
                        "unix:" + socketPath(),
                        "--state-dir",
                        dir_ / "state",
                        "--bin-dir",
                        dir_ / "bin"};
        options.argv.insert(options.argv.end(), extra.begin(), extra.end());
        options.environment = {marker_, "XDG_CACHE_HOME=" + dir_.path() + "/cache"};
        options.timeout = std::chrono::seconds(30);
        const Result<SubprocessOutput> output = Subprocess::run(options);
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
    int daemonPid() const {
        const Result<std::string> text = readFile(dir_ / "state/millraced.lock");
        return text.ok() ? std::atoi(text->c_str()) : 0;
    }
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
    /// Every process that carries this place's mark, as /proc tells.
    std::vector<int> processes(const std::string& program = "") const {
        std::vector<int> found;
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
            const int pid = std::atoi(entry.path().filename().c_str());
            if (pid <= 0) {
                continue;
            }
            const std::string environment = slurp(entry.path() / "environ");
            const std::string command = slurp(entry.path() / "cmdline");
            const std::string name = command.substr(0, command.find('\0'));
            if (environment.find(marker_) != std::string::npos &&
                (program.empty() || name.ends_with("/" + program))) {
                found.push_back(pid);
            }
        }
        return found;
    }
    static std::string slurp(const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }

    tests::TempDir dir_;
    const std::string marker_;
    bool hasWorkers_ = true;
    std::unique_ptr<v1::Runs::Stub> runs;
    std::unique_ptr<v1::Nodes::Stub> nodes;
    std::unique_ptr<v1::Daemon::Stub> daemon;
};

}  // namespace millrace
