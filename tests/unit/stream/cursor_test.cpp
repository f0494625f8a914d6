#include "backend/stream/state/cursor.h"

#include <functional>

#include <gtest/gtest.h>

#include "backend/stream/read_state.h"

namespace millrace::stream {
namespace {

Cursor someCursor() {
    Cursor cursor = Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    cursor.epoch = 2;
    cursor.next = 40;
    cursor.segment = 9;
    cursor.offset = 3;
    cursor.rest = {{4, 100}, {7, 50}};
    return cursor;
}

TEST(Cursor, RoundTripsThroughText) {
    const Cursor cursor = someCursor();
    const Result<Cursor> again = readCursor(cursor.toText());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, cursor);
    EXPECT_EQ(cursor.segmentFirst(), 37);
}

TEST(Cursor, RefusesAnotherStreamOrPlanWithASentence) {
    const std::string stream(32, 'a'), plan(32, 'b');
    const Cursor cursor = someCursor();
    EXPECT_TRUE(checkCursor(cursor, stream, plan, 10, 256).ok());
    const Status otherStream = checkCursor(cursor, std::string(32, 'c'), plan, 10, 256);
    EXPECT_EQ(otherStream.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(otherStream).find("stream"), std::string::npos);
    const Status otherPlan = checkCursor(cursor, stream, std::string(32, 'c'), 10, 256);
    EXPECT_NE(messageOf(otherPlan).find("files"), std::string::npos);
    EXPECT_FALSE(checkCursor(cursor, stream, plan, 10, 150).ok())
        << "the rest is a whole micro-batch";
    EXPECT_FALSE(checkCursor(cursor, stream, plan, 8, 256).ok()) << "beyond the plan";
    EXPECT_FALSE(checkCursor(cursor, stream, plan, 9, 256).ok()) << "only the rest remains there";
}

TEST(Cursor, RefusesWhatIsNoCursor) {
    const std::vector<std::function<void(Json&)>> changes = {
        [](Json& j) { j["version"] = 3; },
        [](Json& j) { j["version"] = 0; },
        [](Json& j) { j.erase("plan_hash"); },
        [](Json& j) { j["stream_hash"] = "short"; },
        [](Json& j) { j["epoch"] = std::int64_t{1} << 40; },
        [](Json& j) { j["next"] = -1; },
        [](Json& j) { j["offset"] = 41; },
        [](Json& j) { j["rest"] = 5; },
        [](Json& j) { j["rest"][0] = 5; },
        [](Json& j) { j["rest"][0][1] = 0; },
        [](Json& j) { j["rest"][1][0] = 4; },
        [](Json& j) { j["rest"][1][0] = 9; },
        [](Json& j) { j["rest"][1][0] = UINT64_MAX; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Json json = *parseJson(someCursor().toText(), "cursor");
        changes[i](json);
        EXPECT_FALSE(readCursor(dumpJson(json)).ok()) << "change " << i;
    }
    EXPECT_FALSE(readCursor("").ok());
    EXPECT_FALSE(readCursor("[]").ok());
}

}  // namespace
}  // namespace millrace::stream
