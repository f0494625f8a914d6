// `compare` of runs whose order hashes are of several versions.
#include <gmock/gmock.h>

#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

// Hashes of two versions are never called equal or different.
TEST_F(CommandsTest, CompareSaysWhereOrderHashesAreOfTwoVersions) {
    fake.runs[0].summary.orderHashVersion = 1;
    fake.runs[1].summary.orderHashVersion = 2;
    for (const char* other : {"other", "aaaabbbbccccdddd"}) {
        fake.runs[1].summary.evalOrderHash = other;
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
        EXPECT_THAT(out.str(), HasSubstr("not comparable: version 1 and 2"));
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
        const Json document = json();
        EXPECT_TRUE(document["same_evaluation_rows"].is_null());
        EXPECT_EQ(document["runs"][1]["order_hash_version"], 2);
    }
}

}  // namespace
}  // namespace millrace::cli
