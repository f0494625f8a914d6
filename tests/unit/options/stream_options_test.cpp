#include "backend/options/stream_options.h"

#include <set>

#include <gmock/gmock.h>

namespace millrace::options {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A value that the option takes and that is not its default.
std::vector<std::string> valuesOf(const OptionSpec& option) {
    switch (option.kind) {
        case ValueKind::kFlag:
            return {};
        case ValueKind::kText:
            return {"a=b"};
        case ValueKind::kInteger:
        case ValueKind::kCount:
            return {"7"};
        case ValueKind::kChoice:
            return {option.choices.back()};
    }
    return {};
}

/// Everything that an option can change, as one text.
std::string described(const StreamOptions& o) {
    std::string sets;
    for (const std::string& set : o.sets) {
        strAppend(&sets, set, ";");
    }
    return strCat(o.variation, "|", sets, "|", o.from.value_or("-"), "|", o.sink, "|", o.part, "|",
                  o.epochs, "|", o.threads, "|", o.microBatches, "|", o.isThroughRing ? 1 : 0, "|",
                  o.ranks, "|", o.last, "|", o.isJson ? 1 : 0, o.isExplained ? 1 : 0, "|",
                  o.without, "|", o.output, "|", o.isForced ? 1 : 0, o.isRows ? 1 : 0,
                  o.isAllRows ? 1 : 0, o.isAsModel ? 1 : 0, "|", o.rowGroupRows, "|", o.sort, "|",
                  o.columns, "|", o.codec);
}

TEST(StreamOptions, EachOptionChangesSomethingOfItsOwn) {
    std::set<std::string> seen = {described(StreamOptions())};
    for (const auto* options : {&streamOptions(), &loaderOptions()}) {
        for (const OptionSpec& option : *options) {
            const auto read = readStreamOptions({{option.name(), valuesOf(option)}});
            ASSERT_TRUE(read.ok()) << read.status();
            EXPECT_TRUE(seen.insert(described(*read)).second) << option.name();
        }
    }
}

TEST(StreamOptions, ValuesArriveInTheirMembers) {
    const auto read = readStreamOptions(
        {{"--set", {"a=1", "b=2"}}, {"--from", {""}}, {"--row-group-rows", {"3"}}, {"--rows", {}}});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(read->sets, ElementsAre("a=1", "b=2"));
    EXPECT_EQ(read->from, "");  // given, if empty: a cursor from the beginning
    EXPECT_EQ(read->rowGroupRows, 3);
    EXPECT_TRUE(read->isRows);
    EXPECT_FALSE(read->isAllRows);
}

TEST(StreamOptions, WhatIsNoValueIsRefusedByName) {
    const auto errorOf = [](const char* option, const char* value) {
        return std::string(messageOf(readStreamOptions({{option, {value}}}).status()));
    };
    EXPECT_EQ(errorOf("--epochs", "0"), "--epochs: '0' is not a whole number from 1");
    EXPECT_EQ(errorOf("--threads", "2x"), "--threads: '2x' is not a whole number from 1");
    EXPECT_EQ(errorOf("--micro-batches", "99999999999999999999"),
              "--micro-batches: '99999999999999999999' is not a whole number from 1");
    EXPECT_EQ(errorOf("--row-group-rows", "100000001"),
              "--row-group-rows: '100000001' is not a whole number from 1 to 100000000");
    EXPECT_THAT(errorOf("--sink", "parque"), HasSubstr("did you mean 'parquet'?"));
}

}  // namespace
}  // namespace millrace::options
