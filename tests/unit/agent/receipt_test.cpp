// The receipt of a run that has ended while the store cannot take it.
#include "backend/stream/plan.h"
#include "backend/stream/state/stream_state.h"
#include "daemon/agent/run/run_end.h"
#include "tests/support/file_size_limit.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using values::RunState;

class ReceiptTest : public AgentTest {
 protected:
    /// A run whose rank has reported that it is done.
    std::string done() {
        inspector.reply->runs = {someInspected()};
        stream::Plan plan;
        plan.segmentSplits = 1;
        inspector.reply->runs[0].plan = std::make_shared<const std::string>(plan.toJsonText());
        const std::string id = service->submit(order())->runs.at(0).id;
        controller->drain();
        hello(id);
        const std::string hash(32, '0');
        stream::StreamState state;
        state.cursor = stream::Cursor::start(hash, hash);
        state.rowsDelivered = 128;
        say(id, 1, rank::Done{2, 128, state.toText(), {}, {}});
        leave(id);
        return id;
    }
    std::string receiptOf(const std::string& id) const {
        return store->document(id, values::LargeDocument::kReceipt).value_or("");
    }
    void pass(std::int64_t ms) {
        clock.advanceMs(ms);
        controller->drain();
    }
};

TEST_F(ReceiptTest, OneThatFindsAFullDiskWaitsForRoom) {
    const std::string id = done();
    {
        const tests::FileSizeLimit limit(16 << 10);  // the store's journal is longer
        endGang(id, 1, 0);
        EXPECT_THAT(live.get(id).queuedReason, HasSubstr("its receipt cannot be stored"));
        for (int i = 0; i < 120; ++i) {
            pass(1'000);
        }
        EXPECT_EQ(record(id).state, RunState::kRunning);
    }
    pass(1'000);
    EXPECT_EQ(record(id).state, RunState::kFinished);
    EXPECT_THAT(receiptOf(id), HasSubstr("\"rows_trained\":128"));
}

TEST_F(ReceiptTest, OneThatTheStoreDoesNotTakeIsTriedSixtyTimesBesideThoseOnAFullDisk) {
    const std::string id = done();
    SideThread side("side", [](const auto&) {}), documents("documents", [](const auto&) {}),
        counting("counting", [](const auto&) {});
    const CheckpointCatalogue checkpoints(*store, root + "/runs");
    Workplace place{*store, listeners, live,           checkpoints, side, documents, counting,
                    clock,  *logs,     root + "/runs", {},          {},   *nodes};
    RunJournal journal(place, record(id));
    RunEnd end(place, journal);
    for (int i = 0; i < 60; ++i) {
        EXPECT_FALSE(end.mayEnd(unavailable("the store is busy")));
        EXPECT_FALSE(end.mayEnd(resourceExhausted("the disk is full")));
    }
    EXPECT_TRUE(end.mayEnd(unavailable("the store is busy")));
    EXPECT_THAT(history(id), HasSubstr("it has no receipt: the store is busy"));
}

TEST_F(ReceiptTest, OneThatCannotBeMadeIsToldOfAndTheRunEndsWithoutIt) {
    const std::string id = done();
    sql("UPDATE run_document SET text = '{' WHERE kind = 'plan@'");
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFinished);
    EXPECT_EQ(receiptOf(id), "");
    EXPECT_THAT(history(id), HasSubstr("it has no receipt: "));
}

}  // namespace
}  // namespace millrace::agent
