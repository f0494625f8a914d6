// An agent with gangs whose processes it cannot reach.
#include <csignal>

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/nodes/slot.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/agent/fake_engine.h"

namespace millrace::nodes {
namespace {

using ::testing::HasSubstr;

// A head that is always there.
class ListeningHead final : public Uplink {
 public:
    bool isOpen() const override { return isOpen_; }
    bool isDue() const override { return !isOpen_; }
    void open(v1::AgentReport first) override {
        isOpen_ = true;
        send(std::move(first));
    }
    bool isReady() const override { return isOpen_; }
    Status refusal() const override { return okStatus(); }
    void send(v1::AgentReport report) override {
        for (const v1::GangReport& gang : report.gangs()) {
            last[gang.key()] = gang;
        }
    }
    std::vector<v1::HeadOrders> take() override { return std::exchange(orders, {}); }

    std::vector<v1::HeadOrders> orders;
    std::map<std::string, v1::GangReport> last;  ///< the head's knowledge, by key

 private:
    bool isOpen_ = false;
};

// Counts open connections to the head.
class CountedTunnel final : public PartTunnel {
 public:
    explicit CountedTunnel(int& count) : count_(count) { ++count_; }
    ~CountedTunnel() override { --count_; }

 private:
    int& count_;
};

class SlotReachTest : public ::testing::Test {
 protected:
    void SetUp() override {
        numEnds_ = 0;
        config_.stateDir = place_.path();
        config_.joinFile = place_ / "nodes.join";
        auto engine = std::make_unique<agent::FakeEngine>();
        auto link = std::make_unique<ListeningHead>();
        engine_ = engine.get();
        link_ = link.get();
        SlotParts parts;
        parts.engine = std::move(engine);
        parts.link = std::move(link);
        parts.openTunnel = [this](const auto&) -> Result<std::unique_ptr<PartTunnel>> {
            return std::make_unique<CountedTunnel>(numTunnels_);
        };
        slot_ = std::make_unique<Slot>(config_, clock_, [this] { ++numEnds_; }, std::move(parts));
    }
    void place(const std::string& key = kKey) {
        engines::Gang gang;
        gang.key = key;
        engines::Group group;
        group.name = "data";
        group.argv = {"sleep", "1"};
        gang.groups = {group};
        v1::HeadOrders orders;
        v1::Placement& placed = *orders.add_placed();
        placed.set_key(key);
        placed.set_gang(engines::gangText(gang));
        link_->orders.push_back(std::move(orders));
    }
    v1::GangReport after(std::chrono::minutes time) {
        clock_.advanceMs(std::chrono::milliseconds(time).count());
        slot_->turn();
        return link_->last[kKey];
    }

    static constexpr const char* kKey = "r-abcde.a1.d0";
    tests::TempDir place_;
    config::DaemonConfig config_;
    FakeClock clock_;
    agent::FakeEngine* engine_ = nullptr;
    ListeningHead* link_ = nullptr;
    int numEnds_ = 0, numTunnels_ = 0;
    std::unique_ptr<Slot> slot_;
};

TEST_F(SlotReachTest, WorkersOutOfReachAreGivenUpWhenTheirLeaseIsOver) {
    slot_->turn();
    engine_->findError = engine_->submitError = unavailable("its workers were started on host-a");
    place();
    const v1::GangReport placed = after(std::chrono::minutes(0));
    EXPECT_EQ(placed.phase(), "submitting");
    EXPECT_THAT(placed.reason(), HasSubstr("were started on host-a"));
    EXPECT_EQ(after(std::chrono::minutes(10)).phase(), "submitting");
    const v1::GangReport ended = after(std::chrono::minutes(1));
    EXPECT_EQ(ended.phase(), "ended");
    EXPECT_THAT(ended.reason(), HasSubstr("were started on host-a"));
    EXPECT_TRUE(engine_->gangs.empty()) << "nothing was started beside them";
}

TEST_F(SlotReachTest, AnAgentThatEndsWaitsForNothingThatItNeverStarted) {
    const Status noRoom = unavailable("the disk is full"), unseen = unavailable("on host-a");
    for (const Status& why : {okStatus(), unseen}) {
        SetUp();
        slot_->turn();
        engine_->submitError = noRoom;
        engine_->findError = why;
        place();
        EXPECT_EQ(after(std::chrono::minutes(0)).phase(), "submitting");
        v1::HeadOrders end;
        end.set_is_end(true);
        link_->orders.push_back(end);
        slot_->turn();
        slot_->turn();
        EXPECT_EQ(numEnds_, 1) << why;
    }
}

TEST_F(SlotReachTest, AGangThatFindsNoRoomIsTriedForAsLongAsItTakes) {
    slot_->turn();
    engine_->submitError = unavailable("the disk is full");
    place();
    EXPECT_EQ(after(std::chrono::minutes(0)).phase(), "submitting");
    EXPECT_EQ(after(std::chrono::minutes(30)).phase(), "submitting");
    engine_->submitError = okStatus();
    EXPECT_EQ(after(std::chrono::minutes(30)).phase(), "running");
}

TEST_F(SlotReachTest, AGangWhoseFilesFindNoRoomIsTriedForAsLongAsItTakes) {
    slot_->turn();
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
    place();
    const v1::GangReport first = after(std::chrono::minutes(0));
    const v1::GangReport later = after(std::chrono::minutes(30));
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(first.phase(), "submitting") << first.reason();
    EXPECT_EQ(later.phase(), "submitting") << later.reason();
    EXPECT_EQ(after(std::chrono::minutes(30)).phase(), "running");
}

TEST_F(SlotReachTest, APartThatIsGivenUpKeepsNoWayToItsHead) {
    constexpr const char* kPart = "r-abcde.a1";
    slot_->turn();
    engine_->submitError = unavailable("the disk is full");
    place(kPart);
    slot_->turn();
    EXPECT_EQ(numTunnels_, 1) << link_->last[kPart].reason();
    engine_->submitError = invalidArgument("a group without a program");
    slot_->turn();
    EXPECT_EQ(link_->last[kPart].phase(), "ended");
    EXPECT_EQ(numTunnels_, 0);
}

}  // namespace
}  // namespace millrace::nodes
