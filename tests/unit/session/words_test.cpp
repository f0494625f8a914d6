#include "app/session/words.h"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "app/session/metric_catalogue.h"
#include "backend/filesystem/files.h"

namespace millrace::session {
namespace {

const std::string kPage = std::string(MILLRACE_SOURCE_DIR) + "/docs/reference/words.md";
const std::string kBegin = "<!-- table: made by tests/unit/session/words_test.cpp -->\n\n";
const std::string kEnd = "\n<!-- end of the table -->\n";

TEST(Words, EachThingHasOneWordAndNoTwoThingsShareOne) {
    std::set<std::string> keys, headings, labels;
    for (const Word* one : words()) {
        EXPECT_TRUE(keys.insert(one->key).second) << one->key;
        EXPECT_TRUE(headings.insert(one->heading).second) << one->heading;
        EXPECT_TRUE(labels.insert(one->label).second) << one->label;
    }
    EXPECT_EQ(keys.size(), words().size());
}

TEST(Words, TheMetricCatalogueTakesItsWordsFromThem) {
    EXPECT_EQ(metricLabel(word::kRate.key), word::kRate.label);
    EXPECT_EQ(metricColumn(word::kRate.key), word::kRate.heading);
    EXPECT_EQ(metricLabel(word::kStall.key), word::kStall.label);
    EXPECT_EQ(metricColumn(word::kStall.key), word::kStall.heading);
}

/// After a change of the table: MILLRACE_WRITE_REFERENCE=1 and this test write the page.
TEST(Words, TheTableOfThePageIsTheirs) {
    Result<std::string> page = readFile(kPage);
    ASSERT_TRUE(page.ok()) << page.status();
    const std::size_t begin = page->find(kBegin), end = page->find(kEnd);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const std::size_t from = begin + kBegin.size();
    if (std::getenv("MILLRACE_WRITE_REFERENCE") != nullptr) {
        const std::string whole = page->substr(0, from) + wordTable() + page->substr(end);
        ASSERT_TRUE(writeFileAtomic(kPage, whole).ok());
        return;
    }
    EXPECT_TRUE(page->substr(from, end - from) == wordTable())
        << "docs/reference/words.md is old: run this test with MILLRACE_WRITE_REFERENCE=1";
}

}  // namespace
}  // namespace millrace::session
