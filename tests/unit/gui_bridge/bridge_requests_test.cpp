#include <QPointer>

#include "tests/support/temp_dir.h"
#include "tests/unit/gui_bridge/bridge_fixture.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;
using values::RunState;

class BridgeRequestsTest : public BridgeTest {
 protected:
    using Names = std::vector<std::string>;
    /// Asks for the check of a filter; the answer's message goes to `answers`.
    void askFilter(const std::string& filter, QObject* context, const std::string& slot = "") {
        bridge->parseFilter(
            filter, context,
            [this](Result<values::FilterCheck> reply) {
                answers.push_back(reply.ok() ? reply->message
                                             : std::string(messageOf(reply.status())));
            },
            slot);
    }
    void SetUp() override {
        daemon.onParseFilter = [](const std::string& filter) {
            return values::FilterCheck{true, filter, 0};
        };
        daemon.addRuns(3);
        ASSERT_TRUE(connectAndWait());
    }
    Names answers;
};

TEST_F(BridgeRequestsTest, AnAnswerArrivesOnTheGuiThreadAfterTheRequestReturned) {
    const Qt::HANDLE here = QThread::currentThreadId();
    bool isHere = false;
    bridge->get("r-00001", &*bridge, [&](Result<values::RunDetail> reply) {
        isHere = QThread::currentThreadId() == here && reply.ok() && reply->summary.id == "r-00001";
    });
    EXPECT_FALSE(isHere);
    EXPECT_FALSE(bridge->isSettled());
    EXPECT_TRUE(until([&] { return isHere; }));
    EXPECT_TRUE(until([&] { return bridge->isSettled(); }));
}

TEST_F(BridgeRequestsTest, AnErrorKeepsTheDaemonsSentence) {
    std::string sentence;
    bridge->get("r-none", &*bridge, [&](Result<values::RunDetail> reply) {
        sentence = std::string(messageOf(reply.status()));
    });
    ASSERT_TRUE(until([&] { return !sentence.empty(); }));
    EXPECT_EQ(sentence, "no run 'r-none'");
}

TEST_F(BridgeRequestsTest, ANewerRequestOfASlotVoidsTheOlderOnes) {
    daemon.hang("parseFilter");
    QObject page;
    for (const char* text : {"a", "ab", "abc", "abcd", "abcde"}) {
        askFilter(text, &page, "filter");
    }
    askFilter("other slot", &page, "other");
    askFilter("no slot", &page);
    ASSERT_TRUE(until([&] { return daemon.numHanging() >= 3; }));
    daemon.release("parseFilter");
    ASSERT_TRUE(until([&] { return answers.size() >= 3; }));
    ASSERT_TRUE(until([&] { return bridge->isSettled(); }));
    EXPECT_THAT(answers, testing::UnorderedElementsAre("abcde", "other slot", "no slot"));
    // "a" may have begun; later requests were dropped before they began.
    EXPECT_LE(daemon.numCalls("parseFilter"), 5);
}

TEST_F(BridgeRequestsTest, AContextThatDiesIsNotCalledBack) {
    daemon.hang("parseFilter");
    auto page = std::make_unique<QObject>();
    askFilter("dead", &*page);
    QObject alive;
    askFilter("alive", &alive);
    page.reset();
    daemon.release("parseFilter");
    ASSERT_TRUE(until([&] { return bridge->isSettled(); }));
    EXPECT_THAT(answers, ElementsAre("alive"));
}

TEST_F(BridgeRequestsTest, WithSlowRequestsHangingTheOthersAreAnswered) {
    daemon.hang("check");
    int numChecked = 0;
    for (int i = 0; i < 10; ++i) {
        bridge->check({}, &*bridge, [&](Result<values::CheckReply>) { ++numChecked; });
    }
    ASSERT_TRUE(until([&] { return daemon.numHanging() == 4; }));
    askFilter("quick", &*bridge);
    ASSERT_TRUE(until([&] { return answers.size() == 1; }));
    EXPECT_EQ(numChecked, 0);
    daemon.release("check");
    EXPECT_TRUE(until([&] { return numChecked == 10; }));
}

TEST_F(BridgeRequestsTest, TooManyRequestsAreRefusedWithASentence) {
    daemon.hang("parseFilter");
    for (int i = 0; i < 700; ++i) {
        askFilter("x", &*bridge);
    }
    ASSERT_TRUE(until([&] { return answers.size() >= 150; }));
    EXPECT_THAT(answers.front(), testing::HasSubstr("too many requests"));
    daemon.release("parseFilter");
    ASSERT_TRUE(until([&] { return answers.size() == 700; }));
    EXPECT_EQ(answers.back(), "x");
}

TEST_F(BridgeRequestsTest, ARequestInTheAirIsVoidWhenTheDaemonIsSwitched) {
    daemon.hang("parseFilter");
    askFilter("old", &*bridge);
    ASSERT_TRUE(until([&] { return daemon.numHanging() == 1; }));
    bridge->connectTo("unix:/fake.sock");
    daemon.release("parseFilter");
    isComplete = false;
    ASSERT_TRUE(until([&] { return isComplete; }));
    askFilter("new", &*bridge);
    ASSERT_TRUE(until([&] { return !answers.empty(); }));
    EXPECT_THAT(answers, ElementsAre("new"));
}

TEST_F(BridgeRequestsTest, TheBridgeEndsQuicklyWhileCallsHang) {
    for (const char* call : {"get", "check", "list", "handshake"}) {
        daemon.hang(call);
    }
    bridge->get("r-00001", &*bridge, [](Result<values::RunDetail>) { FAIL(); });
    bridge->check({}, &*bridge, [](Result<values::CheckReply>) { FAIL(); });
    ASSERT_TRUE(until([&] { return daemon.numHanging() == 2; }));
    const auto start = std::chrono::steady_clock::now();
    bridge.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_F(BridgeRequestsTest, ASwitchIsQuickWhileTheHandshakeHangs) {
    daemon.hang("handshake");
    bridge->connectTo("unix:/fake.sock");
    ASSERT_TRUE(until([&] { return daemon.numHanging() == 1; }));
    const auto start = std::chrono::steady_clock::now();
    bridge->connectTo("unix:/fake.sock");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_F(BridgeRequestsTest, AnAnswerMayEndTheBridge) {
    bool isEnded = false;
    for (int i = 0; i < 5; ++i) {
        bridge->get("r-00001", &*bridge, [&](Result<values::RunDetail>) {
            bridge.reset();
            isEnded = true;
        });
    }
    EXPECT_TRUE(until([&] { return isEnded; }));
    EXPECT_EQ(bridge, nullptr);
}

TEST_F(BridgeRequestsTest, ASubmitHasAnOwnerAndAKey) {
    values::SubmitRequest seen;
    daemon.onSubmit = [&](const values::SubmitRequest& request) {
        seen = request;
        return values::SubmitReply{};
    };
    bool isDone = false;
    values::SubmitRequest request;
    request.specText = "name: x";
    bridge->submit(request, &*bridge,
                   [&](Result<values::SubmitReply> reply) { isDone = reply.ok(); });
    ASSERT_TRUE(until([&] { return isDone; }));
    EXPECT_FALSE(seen.owner.empty());
    EXPECT_FALSE(seen.key.empty());
    EXPECT_EQ(seen.specText, "name: x");
}

TEST_F(BridgeRequestsTest, ChangesOfARunAnswerAndArriveInTheListToo) {
    std::string note;
    bridge->setNote("r-00001", "good one", &*bridge,
                    [&](Result<values::RunSummary> run) { note = run.ok() ? run->note : "?"; });
    ASSERT_TRUE(until([&] { return note == "good one"; }));
    EXPECT_TRUE(until([&] { return runs["r-00001"].note == "good one"; }));
    bridge->stop("r-00001", &*bridge, [](Result<values::RunSummary>) {});
    EXPECT_TRUE(until([&] { return runs["r-00001"].state == RunState::kCancelled; }));
}

TEST_F(BridgeRequestsTest, SpecFilesAreReadAndWrittenWithoutADaemon) {
    const tests::TempDir directory;
    const std::string path = directory.path() + "/spec.yaml";
    auto alone = std::make_unique<DaemonBridge>([](const std::string&) { return nullptr; });
    std::string written, text, wrong;
    alone->writeTextFile(path, "name: x\n", &*alone,
                         [&](Result<std::string> reply) { written = reply.ok() ? *reply : "?"; });
    ASSERT_TRUE(until([&] { return !written.empty(); }));
    EXPECT_EQ(written, path);
    alone->readSpecFile(path, &*alone, [&](Result<std::string> reply) { text = *reply; });
    alone->readSpecFile(path + "-none", &*alone, [&](Result<std::string> reply) {
        wrong = std::string(messageOf(reply.status()));
    });
    ASSERT_TRUE(until([&] { return !text.empty() && !wrong.empty(); }));
    EXPECT_EQ(text, "name: x\n");
    EXPECT_THAT(wrong, testing::HasSubstr("spec.yaml-none"));
    std::string answer;
    alone->get("r-1", &*alone, [&](Result<values::RunDetail> reply) {
        answer = std::string(messageOf(reply.status()));
    });
    EXPECT_TRUE(until([&] { return answer == "no daemon is connected"; }));
    alone->connectTo("nonsense");
    EXPECT_EQ(alone->link().state, session::LinkState::kRefused);
    EXPECT_THAT(alone->link().sentence, testing::HasSubstr("'nonsense' is not an address"));
}

}  // namespace
}  // namespace millrace::gui
