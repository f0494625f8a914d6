#include <cstdlib>

#include <gtest/gtest.h>

#include "backend/expr/functions.h"
#include "backend/filesystem/files.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {
namespace {

const std::string kPage = std::string(MILLRACE_SOURCE_DIR) + "/docs/reference/spec.md";

/// After a change of the tables: MILLRACE_WRITE_REFERENCE=1 and this test write the page.
TEST(SpecReference, ThePageInDocsIsWhatTheTablesGive) {
    if (std::getenv("MILLRACE_WRITE_REFERENCE") != nullptr) {
        ASSERT_TRUE(writeFileAtomic(kPage, specReference()).ok());
    }
    const Result<std::string> page = readFile(kPage);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_TRUE(*page == specReference())
        << "docs/reference/spec.md is old: run this test with MILLRACE_WRITE_REFERENCE=1";
}

TEST(SpecReference, NamesEveryKeyAndEveryFunction) {
    const std::string page = specReference();
    for (const std::string& key : specKeys()) {
        EXPECT_NE(page.find("`" + key + "`"), std::string::npos) << key;
    }
    for (const expr::Function& function : expr::allFunctions()) {
        EXPECT_NE(page.find("`" + std::string(function.name) + "("), std::string::npos)
            << function.name;
        for (const std::string_view alias : function.aliases) {
            EXPECT_NE(page.find("`" + std::string(alias) + "`"), std::string::npos) << alias;
        }
    }
}

}  // namespace
}  // namespace millrace::spec
