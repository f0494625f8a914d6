// Slices of a document equal what a parser finds in it.
#include "backend/text/json_slices.h"

#include <gtest/gtest.h>

#include "backend/text/json.h"

namespace millrace {
namespace {

const Json kDocument = {{"empty", Json::array()},
                        {"files", {{{"path", "a,]}\"\\"}, {"rows", -12}}, {{"path", "ä"}}, 7, "x"}},
                        {"nested", {{"files", {1, 2}}, {"rows", 3.5e9}}},
                        {"rows", 3},
                        {"text", "\"rows\":9"},
                        {"word", nullptr}};

TEST(JsonSlices, AreTheMembersThatAParserFinds) {
    for (const std::string& text : {dumpJson(kDocument), dumpJsonPretty(kDocument)}) {
        for (const auto& [key, value] : kDocument.items()) {
            const auto slice = jsonMemberText(text, key);
            ASSERT_TRUE(slice.has_value()) << key;
            EXPECT_EQ(Json::parse(*slice), value) << key;
        }
        EXPECT_FALSE(jsonMemberText(text, "path").has_value()) << "a member's member";
        EXPECT_FALSE(jsonMemberText(text, "").has_value());
    }
}

TEST(JsonSlices, AreTheElementsThatAParserFinds) {
    for (const std::string& text : {dumpJson(kDocument), dumpJsonPretty(kDocument)}) {
        JsonElements elements(*jsonMemberText(text, "files"));
        for (const Json& expected : kDocument["files"]) {
            const auto slice = elements.next();
            ASSERT_TRUE(slice.has_value()) << expected;
            EXPECT_EQ(Json::parse(*slice), expected);
        }
        EXPECT_FALSE(elements.next().has_value());
        EXPECT_FALSE(elements.next().has_value());
        EXPECT_FALSE(JsonElements(*jsonMemberText(text, "empty")).next().has_value());
        EXPECT_FALSE(JsonElements(*jsonMemberText(text, "nested")).next().has_value());
    }
}

TEST(JsonSlices, AMemberIsPutInThePlaceOfAnother) {
    Json expected = kDocument;
    expected["files"] = {1};
    EXPECT_EQ(withJsonMember(dumpJson(kDocument), "files", "[1]"), dumpJson(expected));
    EXPECT_EQ(withJsonMember(R"({"a":1})", "b", "2"), R"({"a":1})");
}

TEST(JsonSlices, TextThatIsCutAnywhereGivesNothingOrARest) {
    const std::string text = dumpJson(kDocument);
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
        const std::string cut = text.substr(0, bytes);  // of its own, for sanitizers
        for (const auto& [key, value] : kDocument.items()) {
            (void)jsonMemberText(cut, key);
        }
        JsonElements elements(cut);
        EXPECT_FALSE(elements.next().has_value());
    }
    for (const char* odd : {"", "{", "[", "[,", "[1", "[1,", "{\"a\"", "{\"a\":", "{\"a\":}", "]",
                            "}", "[]]", "{1:2}", "\"", "{\"a\\", "[\"\\"}) {
        (void)jsonMemberText(odd, "a");
        JsonElements elements(odd);
        for (int i = 0; i < 3 && elements.next(); ++i) {
        }
    }
}

}  // namespace
}  // namespace millrace
