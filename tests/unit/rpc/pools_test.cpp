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
        ASSERT_TRUE(quick_.tryRun([wait = open_.get_future().share()](bool) { wait.wait(); }));
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

}  // namespace
}  // namespace millrace::rpc
