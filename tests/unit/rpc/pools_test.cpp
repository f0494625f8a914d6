// Which calls wait for which: a service whose quick calls are blocked.
#include <future>

#include <grpcpp/test/default_reactor_test_peer.h>

#include "daemon/rpc/runs_service.h"
#include "tests/support/poll.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::rpc {
namespace {

class PoolsTest : public agent::AgentTest {
 protected:
    PoolsTest() : runs_(makeRunsService(*service, {quick_, slow_, down_, pump_})) {}
    ~PoolsTest() override {
        release();
        quick_.end();
    }
    /// Blocks the only thread of the quick calls until release().
    void holdQuickCalls() {
        std::promise<void> begun;
        ASSERT_TRUE(quick_.tryRun([&begun, wait = open_.get_future().share()](bool) {
            begun.set_value();
            wait.wait();
        }));
        begun.get_future().wait();
    }
    void release() {
        if (!isOpen_) {
            open_.set_value();
            isOpen_ = true;
        }
    }

    std::promise<void> open_;
    bool isOpen_ = false;
    CallPool quick_{"quick", 1, 8}, slow_{"slow", 1, 8}, down_{"down", 1, 1};
    StreamPump pump_;
    std::unique_ptr<v1::Runs::CallbackService> runs_;
};

/// A call of Delete and its answer.
struct Deletion {
    explicit Deletion(const std::string& run, bool isForGood) {
        request.set_run(run);
        request.set_purge(isForGood);
    }
    bool hasEnded() const { return peer.test_status_set(); }
    grpc::CallbackServerContext context;
    grpc::testing::DefaultReactorTestPeer peer{&context};
    v1::DeleteRunRequest request;
    v1::DeleteRunResponse response;
};

TEST_F(PoolsTest, APurgeIsNotAmongTheQuickCalls) {
    const std::string id = submit();
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x"}).ok());
    holdQuickCalls();
    Deletion purge(id, true);
    runs_->Delete(&purge.context, &purge.request, &purge.response);
    ASSERT_TRUE(test::eventually([&] { return purge.hasEnded(); }));
    EXPECT_TRUE(purge.peer.test_status().ok()) << purge.peer.test_status().error_message();
    EXPECT_GT(purge.response.run().purged_ms(), 0);
}

TEST_F(PoolsTest, HidingARunDoesNotWaitForSubmits) {
    const std::string id = submit();
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x"}).ok());
    holdQuickCalls();
    Deletion hide(id, false);
    runs_->Delete(&hide.context, &hide.request, &hide.response);
    EXPECT_FALSE(hide.hasEnded()) << "it is a quick call";
    release();
    ASSERT_TRUE(test::eventually([&] { return hide.hasEnded(); }));
    EXPECT_EQ(hide.response.run().purged_ms(), 0);
    EXPECT_GT(hide.response.run().deleted_ms(), 0);
}

// The error of a stream that reads the store for a run that nobody knows.
class StreamPoolsTest : public PoolsTest {
 protected:
    StreamPoolsTest() {
        grpc::ServerBuilder builder;
        builder.RegisterService(runs_.get());
        server_ = builder.BuildAndStart();
        stub_ = v1::Runs::NewStub(server_->InProcessChannel({}));
    }
    ~StreamPoolsTest() override {
        release();
        pump_.endAll();
        server_->Shutdown(std::chrono::system_clock::now());
        server_->Wait();
    }
    /// Watch, WatchMetrics and Logs, in this order.
    std::vector<grpc::StatusCode> openAll() const {
        v1::WatchRunsRequest watch;
        watch.add_runs("r-nobody");
        v1::WatchMetricsRequest metrics;
        metrics.set_run("r-nobody");
        v1::LogsRequest logs;
        logs.set_run("r-nobody");
        grpc::ClientContext contexts[3];
        return {errorOf(stub_->Watch(&contexts[0], watch)),
                errorOf(stub_->WatchMetrics(&contexts[1], metrics)),
                errorOf(stub_->Logs(&contexts[2], logs))};
    }

 private:
    template <class Message>
    static grpc::StatusCode errorOf(std::unique_ptr<grpc::ClientReader<Message>> reader) {
        Message message;
        EXPECT_FALSE(reader->Read(&message));
        return reader->Finish().error_code();
    }

    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<v1::Runs::Stub> stub_;
};

TEST_F(StreamPoolsTest, StreamsLookUpTheirRunsAmongTheQuickCalls) {
    using grpc::StatusCode;
    EXPECT_EQ(openAll(), std::vector(3, StatusCode::NOT_FOUND));
    holdQuickCalls();
    while (quick_.tryRun([](bool) {})) {
    }
    EXPECT_EQ(openAll(), std::vector(3, StatusCode::UNAVAILABLE)) << "there is no room for more";
}

}  // namespace
}  // namespace millrace::rpc
