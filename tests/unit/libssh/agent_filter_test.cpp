#include "app/ssh/libssh/agent_filter.h"

#include <gtest/gtest.h>

#include "app/ssh/libssh/control.h"
#include "app/ssh/libssh/frames.h"

namespace millrace::libssh {
namespace {

std::string piece(const std::string& text) {
    return lengthBytes(text.size()) + text;
}

TEST(AgentFilter, OnlyTheNamedKeysAreLeftInTheList) {
    const std::string list = std::string(1, 12) + lengthBytes(3) + piece("one") + piece("first") +
                             piece("two") + piece("") + piece("three") + piece("third");
    EXPECT_EQ(filteredIdentities(list, {"three", "one", "none"}),
              std::string(1, 12) + lengthBytes(2) + piece("one") + piece("first") + piece("three") +
                  piece("third"));
    EXPECT_EQ(filteredIdentities(list, {}), std::string(1, 12) + lengthBytes(0));
}

TEST(AgentFilter, OtherMessagesAndBrokenListsDoNoHarm) {
    const std::string signature = std::string(1, 14) + piece("signature");
    EXPECT_EQ(filteredIdentities(signature, {}), signature);
    EXPECT_EQ(filteredIdentities("", {}), "");
    const std::string cut = std::string(1, 12) + lengthBytes(2) + piece("one") + piece("first") +
                            lengthBytes(1'000'000) + "x";
    EXPECT_EQ(filteredIdentities(cut, {"one"}),
              std::string(1, 12) + lengthBytes(1) + piece("one") + piece("first"));
}

TEST(Frames, MessagesComeAsTheyWereSent) {
    UniqueFd one, other;
    ASSERT_TRUE(makeSocketPair(one, other).ok());
    ASSERT_TRUE(sendFrame(one.get(), "hello").ok());
    EXPECT_EQ(*receiveFrame(other.get(), 5), "hello");
    ASSERT_TRUE(sendFrame(one.get(), "too long").ok());
    EXPECT_EQ(receiveFrame(other.get(), 5).status().code(), absl::StatusCode::kDataLoss);
    one.reset();
}

TEST(Frames, AnEndBetweenMessagesIsEmptyAndOneInsideIsAnError) {
    UniqueFd one, other;
    ASSERT_TRUE(makeSocketPair(one, other).ok());
    ASSERT_TRUE(sendBytes(one.get(), lengthBytes(9) + "half").ok());
    one.reset();
    EXPECT_EQ(receiveFrame(other.get(), 100).status().code(), absl::StatusCode::kUnavailable);
    ASSERT_TRUE(makeSocketPair(one, other).ok());
    one.reset();
    EXPECT_EQ(*receiveFrame(other.get(), 100), "");
}

TEST(Frames, WordsKeepWhatIsInThem) {
    const std::vector<std::string> words = {"exec", "a\nb c", ""};
    EXPECT_EQ(splitWords(joinWords(words)), words);
}

}  // namespace
}  // namespace millrace::libssh
