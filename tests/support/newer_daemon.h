#pragma once
// A daemon of a newer protocol version: an in-process gRPC server that answers only the handshake.
//
// Listens on a unix socket in its own directory. Threads: gRPC's; one owner. Owns: the server,
// which ends with it.
#include <atomic>
#include <memory>
#include <string>

#include <millrace/v1/nodes.grpc.pb.h>

#include <grpcpp/grpcpp.h>

#include "tests/support/temp_dir.h"

namespace millrace::tests {

class NewerDaemon {
 public:
    static constexpr std::uint32_t kProtocolVersion = 99;
    static constexpr char kVersion[] = "9.9.0";

    NewerDaemon() {
        grpc::ServerBuilder builder;
        builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
        builder.RegisterService(&nodes_);
        server_ = builder.BuildAndStart();
    }
    ~NewerDaemon() {
        if (server_ != nullptr) {
            server_->Shutdown(std::chrono::system_clock::now());
            server_->Wait();
        }
    }
    NewerDaemon(const NewerDaemon&) = delete;
    NewerDaemon& operator=(const NewerDaemon&) = delete;

    /// False if the server could not listen on its socket.
    bool isServing() const { return server_ != nullptr; }
    std::string address() const { return "unix:" + (dir_ / "newer.sock"); }
    /// Handshakes answered so far.
    int numHandshakes() const { return nodes_.numHandshakes; }

 private:
    class Nodes final : public v1::Nodes::Service {
     public:
        grpc::Status Handshake(grpc::ServerContext*, const v1::HandshakeRequest*,
                               v1::HandshakeResponse* response) override {
            ++numHandshakes;
            response->set_version(kVersion);
            response->set_protocol_version(kProtocolVersion);
            return grpc::Status::OK;
        }
        std::atomic<int> numHandshakes{0};
    };

    TempDir dir_;
    Nodes nodes_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace millrace::tests
