#pragma once
// A daemon's service of runs on its own unix socket: gRPC, streams, wake-ups.
//
// Threads: one owner. Its death breaks every connection, as a daemon's does.
#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>

#include "backend/system/local_peer_gate.h"
#include "daemon/rpc/runs_service.h"
#include "daemon/rpc/stream_pump.h"

namespace millrace::tests {

class RunsServer {
 public:
    RunsServer(agent::RunService& runs, const std::string& path)
        : service_(rpc::makeRunsService(runs, {quick_, slow_, down_, pump_})) {
        grpc::ServerBuilder builder;
        builder.RegisterService(service_.get());
        server_ = builder.BuildAndStart();
        auto gate = LocalPeerGate::open(
            path, [this](int fd) { grpc::AddInsecureChannelFromFd(server_.get(), fd); });
        EXPECT_TRUE(gate.ok()) << gate.status();
        gate_ = std::move(*gate);
    }
    ~RunsServer() {
        gate_.reset();
        pump_.endAll();
        server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
        server_->Wait();
    }
    RunsServer(const RunsServer&) = delete;
    RunsServer& operator=(const RunsServer&) = delete;

 private:
    rpc::CallPool quick_{"calls", 2, 256}, slow_{"submits", 1, 8}, down_{"down", 1, 4};
    rpc::StreamPump pump_;
    std::unique_ptr<v1::Runs::CallbackService> service_;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<LocalPeerGate> gate_;
};

}  // namespace millrace::tests
