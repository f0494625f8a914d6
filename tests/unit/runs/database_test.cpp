// The connection below the store: its cached statements.
#include "backend/runs/database.h"

#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
    DatabaseTest()
        : db(std::move(Database::open(directory / "some.db", Database::Mode::kWrite).value())) {}
    /// Prepares, runs and gives back.
    void use(const std::string& sql) { ASSERT_TRUE(db->queryInt(sql).ok()) << sql; }

    tests::TempDir directory;
    std::unique_ptr<Database> db;
};

TEST_F(DatabaseTest, StatementsThatAreUsedOnceAreNotKeptForEver) {
    for (int i = 0; i < 500; ++i) {
        use(strCat("SELECT ", i));
    }
    EXPECT_EQ(db->numIdle(), Database::kIdleStatementsMax);
}

TEST_F(DatabaseTest, AStatementThatIsUsedAgainIsPreparedOnce) {
    for (int i = 0; i < 10; ++i) {
        use("SELECT 7");
    }
    EXPECT_EQ(db->numIdle(), 1u);
    {
        const auto first = db->prepare("SELECT 7"), second = db->prepare("SELECT 7");
        ASSERT_TRUE(first.ok() && second.ok());
        EXPECT_EQ(db->numIdle(), 0u) << "in use";
    }
    EXPECT_EQ(db->numIdle(), 2u);
}

TEST_F(DatabaseTest, ALongStatementIsNotKept) {
    use("SELECT 1 -- " + std::string(Database::kIdleStatementBytesMax, 'x'));
    EXPECT_EQ(db->numIdle(), 0u);
    use("SELECT 1");
    EXPECT_EQ(db->numIdle(), 1u);
}

TEST_F(DatabaseTest, WhatIsKeptHoldsNoTable) {
    ASSERT_TRUE(db->exec("CREATE TABLE a AS SELECT 1 AS x UNION SELECT 2").ok());
    use("SELECT x FROM a");  // one of two rows was read
    const Status dropped = db->exec("DROP TABLE a");
    EXPECT_TRUE(dropped.ok()) << dropped;
}

}  // namespace
}  // namespace millrace::runs
