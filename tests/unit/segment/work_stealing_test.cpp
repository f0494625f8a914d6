// Columns of a split that several threads read. One thread plays all of them here, so that the test
// controls which thread reads which column; other tests compare streams with real threads.
#include "backend/segment/work_stealing.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <utility>

#include <arrow/array/array_base.h>
#include <gtest/gtest.h>

#include "tests/unit/dataset/data_files.h"

namespace millrace::segment {
namespace {

using dataset::SplitReader;

constexpr std::int64_t kJobRows = 1000;

class WorkStealingTest : public ::testing::Test {
 protected:
    WorkStealingTest() {
        std::vector<test::Column> columns;
        for (const std::string& name : names_) {
            std::vector<std::int64_t> values;
            for (std::int64_t r = 0; r < 2 * kJobRows; ++r) {
                values.push_back(r * 7919 + static_cast<std::int64_t>(columns.size()));
            }
            columns.push_back({name, test::ints(values)});
        }
        path_ = data_.parquet("rows.parquet", columns, kJobRows);
        open();
    }

    void open() {
        dataset_ = *dataset::Dataset::open({path_}, data_.path(), {},
                                           std::make_shared<dataset::MetadataCache>());
    }
    /// Opens a file of these columns instead of the fixture's.
    void open(const std::vector<test::Column>& columns) {
        path_ = data_.parquet("others.parquet", columns, kJobRows);
        open();
    }

    Result<ColumnArrays> read(std::int64_t rank, const dataset::SplitRange& split,
                              SplitReader& reader, SplitReader& helper) {
        return jobs_.read({rank}, split, names_, {}, {reader, helper});
    }
    /// As above, of `count` columns of numbers; returns their names, c0 and on.
    std::vector<std::string> openMany(
        std::size_t count, const std::function<std::vector<std::int64_t>(std::size_t)>& values) {
        std::vector<test::Column> columns;
        std::vector<std::string> names;
        for (std::size_t c = 0; c < count; ++c) {
            names.push_back(strCat("c", c));
            columns.push_back({names[c], test::ints(values(c))});
        }
        open(columns);
        return names;
    }
    /// The other thread's part while the owner has the job open.
    void whenOpen(std::function<void()> action) { action_ = std::move(action); }

    static std::int64_t first(const ColumnArrays& arrays, std::size_t column) {
        return static_cast<const arrow::Int64Array&>(*arrays[column]).Value(0);
    }

    const std::vector<std::string> names_{"a", "b", "c", "d"};
    const dataset::SplitRange front_{0, 0, 0, kJobRows}, back_{0, 1, kJobRows, kJobRows};
    test::DataDirectory data_;
    std::string path_;
    std::shared_ptr<const dataset::Dataset> dataset_;
    std::function<void()> action_ = [] {};
    StageCounters counters_;
    WorkStealing jobs_{counters_, [this] { std::exchange(action_, [] {})(); }, 1};
};

TEST_F(WorkStealingTest, AHelperReadsWhatTheOwnerHasNotClaimed) {
    SplitReader alone(dataset_), owner(dataset_), helper(dataset_), unused(dataset_);
    const ColumnArrays wanted = *alone.readRows(front_, names_, {});
    int helped = 0;
    whenOpen([&] {
        EXPECT_TRUE(jobs_.isOpen());
        while (helped < 3 && jobs_.help({helper, helper})) {
            ++helped;
        }
    });
    const auto arrays = read(5, front_, owner, unused);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    ASSERT_EQ(arrays->size(), wanted.size());
    for (std::size_t c = 0; c < wanted.size(); ++c) {
        EXPECT_TRUE((*arrays)[c]->Equals(*wanted[c])) << names_[c];
    }
    EXPECT_EQ(helped, 3);
    EXPECT_EQ(helper.bytesRead() + owner.bytesRead(), alone.bytesRead());
    EXPECT_GT(helper.bytesRead(), owner.bytesRead());
    EXPECT_EQ(unused.bytesRead(), 0);
    EXPECT_FALSE(jobs_.isOpen());
    EXPECT_FALSE(jobs_.help({helper, helper})) << "nothing is left";
    EXPECT_EQ(counters_.read(Stage::kRead).bytes, alone.bytesRead());
    EXPECT_EQ(counters_.columns().at("a").rows, kJobRows);
}

TEST_F(WorkStealingTest, AKindThatIsSwitchedOffIsNotStolen) {
    SplitReader owner(dataset_), helper(dataset_);
    for (const bool isOn : {true, false}) {
        std::function<void()> onOpen = [] {};
        WorkStealing jobs(counters_, [&] { std::exchange(onOpen, [] {})(); }, 1, kPieceRows,
                          {isOn, isOn, isOn, false});
        EXPECT_FALSE(jobs.isHasty());
        int steals = 0;
        const auto steal = [&] {
            EXPECT_EQ(jobs.isOpen(), isOn);
            EXPECT_EQ(jobs.help({helper, helper}), isOn);
            ++steals;
        };
        onOpen = steal;
        EXPECT_TRUE(jobs.read({1}, front_, names_, {}, {owner, helper}).ok());
        std::atomic<int> done = 0;
        const UnitWork count = [&done](std::size_t, const Readers&) { return ++done > 0; };
        onOpen = steal;
        jobs.runSplits(1, 3, count, {owner, helper});
        onOpen = steal;
        jobs.runPieces({1}, 3, count, {owner, helper});
        EXPECT_EQ(steals, 3);
        EXPECT_EQ(done, 6) << "the owner runs what nobody steals";
    }
}

TEST_F(WorkStealingTest, ALaterSegmentHelpsAnEarlierOneUntilTheFirstFrameIsDelivered) {
    for (const bool isDelivered : {false, true}) {
        if (isDelivered) {
            jobs_.firstIsDelivered();
        }
        SplitReader early(dataset_), late(dataset_), lateHelper(dataset_), unused(dataset_);
        whenOpen([&] {
            const auto arrays = read(2, back_, late, lateHelper);
            ASSERT_TRUE(arrays.ok()) << arrays.status();
            EXPECT_EQ(first(*arrays, 1), kJobRows * 7919 + 1) << "its own columns";
        });
        const auto arrays = read(1, front_, early, unused);
        ASSERT_TRUE(arrays.ok()) << arrays.status();
        EXPECT_EQ(first(*arrays, 1), 1);
        EXPECT_GT(late.bytesRead(), 0);
        EXPECT_EQ(early.bytesRead() == 0, !isDelivered);
        EXPECT_EQ(lateHelper.bytesRead() == 0, isDelivered);
    }
}

TEST_F(WorkStealingTest, AnEarlierSegmentDoesNotHelpALaterOne) {
    SplitReader early(dataset_), earlyHelper(dataset_), late(dataset_), unused(dataset_);
    whenOpen([&] {
        const auto arrays = read(1, front_, early, earlyHelper);
        EXPECT_TRUE(arrays.ok()) << arrays.status();
    });
    EXPECT_TRUE(read(2, back_, late, unused).ok());
    EXPECT_EQ(earlyHelper.bytesRead(), 0);
    EXPECT_GT(late.bytesRead(), 0);
}

TEST_F(WorkStealingTest, TheFirstColumnThatFailsIsTold) {
    // Two damaged columns: the error is that of the first, whichever thread reads them.
    std::string bytes = test::read(path_);
    const std::size_t step = bytes.size() / 8;  // four columns of two row groups
    for (const std::size_t column : {1, 2}) {
        bytes.replace(column * step + step / 8, step * 3 / 4, std::string(step * 3 / 4, '\x5a'));
    }
    test::write(path_, bytes);
    open();  // it is opened again after the damage
    for (const int helps : {0, 1, 2, 3}) {
        SplitReader owner(dataset_), helper(dataset_), unused(dataset_);
        whenOpen([&] {
            for (int i = 0; i < helps; ++i) {
                jobs_.help({helper, helper});
            }
        });
        const auto arrays = read(1, front_, owner, unused);
        ASSERT_FALSE(arrays.ok());
        EXPECT_NE(arrays.status().message().find("column 'b'"), std::string::npos)
            << arrays.status();
        EXPECT_FALSE(jobs_.isOpen()) << "columns behind it are not read";
    }
}

TEST_F(WorkStealingTest, WhatTookMostIsReadFirst) {
    // A text of 40 bytes per row and a number of few bits.
    std::vector<std::int64_t> few(kJobRows);
    std::vector<std::string> texts;
    for (std::int64_t r = 0; r < kJobRows; ++r) {
        texts.push_back(std::string(30, 'x') + std::to_string(r * 7919));
    }
    open({{"small", test::ints(few)}, {"large", test::texts(texts)}});
    const std::vector<std::string> names{"small", "large"};
    const std::int64_t small = [&] {
        SplitReader reader(dataset_);
        EXPECT_TRUE(reader.readRows(front_, {"small"}, {}).ok());
        return reader.bytesRead();
    }();
    for (const bool isKnown : {false, true}) {
        SplitReader owner(dataset_), helper(dataset_), unused(dataset_);
        whenOpen([&] { jobs_.help({helper, helper}); });
        const auto arrays = jobs_.read({1}, front_, names, {}, {owner, unused});
        ASSERT_TRUE(arrays.ok()) << arrays.status();
        EXPECT_EQ((*arrays)[0]->type_id(), arrow::Type::INT64) << "in the order of the names";
        EXPECT_EQ(helper.bytesRead() > small, isKnown)
            << "the helper has the first that is claimed";
    }
}

TEST_F(WorkStealingTest, ColumnsOfFewBytesAreClaimedTogetherOnceTheirBytesAreKnown) {
    constexpr std::size_t kColumns = 200;
    const std::vector<std::string> names =
        openMany(kColumns, [](std::size_t) { return std::vector<std::int64_t>(kJobRows, 1); });
    SplitReader alone(dataset_);
    const ColumnArrays wanted = *alone.readRows(front_, names, {});
    for (const std::size_t columnsOfAClaim : {std::size_t{1}, std::size_t{7}}) {
        SplitReader owner(dataset_), helper(dataset_), unused(dataset_);
        std::size_t claims = 0;
        whenOpen([&] {
            while (jobs_.help({helper, helper})) {
                ++claims;
            }
        });
        const auto arrays = jobs_.read({1}, front_, names, {}, {owner, unused});
        ASSERT_TRUE(arrays.ok()) << arrays.status();
        EXPECT_EQ(claims, (kColumns + columnsOfAClaim - 1) / columnsOfAClaim);
        for (std::size_t c = 0; c < kColumns; ++c) {
            ASSERT_TRUE((*arrays)[c]->Equals(*wanted[c])) << names[c];
        }
    }
}

// The columns differ in bytes, but none is large enough to be read early. Read in the order of
// their names, they follow one another in the file and in memory.
TEST_F(WorkStealingTest, ColumnsOfFewBytesStayInTheirOrder) {
    const std::vector<std::string> names = openMany(64, [](std::size_t c) {
        std::vector<std::int64_t> values(kJobRows);
        for (std::size_t r = 0; r < values.size() * (c % 8 + 1) / 8; ++r) {
            values[r] = static_cast<std::int64_t>(r * 7919);
        }
        return values;
    });
    SplitReader known(dataset_), unused(dataset_);
    ASSERT_TRUE(jobs_.read({1}, front_, names, {}, {known, unused}).ok());
    // The helper claims the first names, so it has read the bytes of the first names.
    SplitReader owner(dataset_), helper(dataset_);
    whenOpen([&] { jobs_.help({helper, helper}); });
    ASSERT_TRUE(jobs_.read({1}, front_, names, {}, {owner, unused}).ok());
    for (std::size_t claimed = 1; claimed <= 8; ++claimed) {
        SplitReader first(dataset_);
        const std::vector<std::string> front(names.begin(),
                                             names.begin() + static_cast<std::ptrdiff_t>(claimed));
        ASSERT_TRUE(first.readRows(front_, front, {}).ok());
        if (first.bytesRead() == helper.bytesRead()) {
            return;
        }
    }
    FAIL() << "the claim is not the first names";
}

TEST_F(WorkStealingTest, AHelperTakesWholeSplitsWithItsOwnReader) {
    SplitReader owner(dataset_), ownerHelper(dataset_), other(dataset_), otherHelper(dataset_);
    std::vector<std::pair<std::size_t, const SplitReader*>> ran;
    const UnitWork work = [&](std::size_t split, const Readers& readers) {
        ran.emplace_back(split, &readers.own);
        EXPECT_EQ(&readers.others, &readers.own == &owner ? &ownerHelper : &otherHelper);
        return true;
    };
    whenOpen([&] {
        EXPECT_TRUE(jobs_.isOpen());
        EXPECT_TRUE(jobs_.help({other, otherHelper}));
        EXPECT_TRUE(jobs_.help({other, otherHelper}));
    });
    jobs_.runSplits(3, 4, work, {owner, ownerHelper});
    const std::vector<std::pair<std::size_t, const SplitReader*>> wanted = {
        {0, &other}, {1, &other}, {2, &owner}, {3, &owner}};
    EXPECT_EQ(ran, wanted) << "each once, in their order";
    EXPECT_FALSE(jobs_.isOpen());
    EXPECT_FALSE(jobs_.help({other, otherHelper})) << "nothing is left";
}

TEST_F(WorkStealingTest, ASplitComesBeforeColumnsAndTwoSplitsMayBeReadAtOnce) {
    SplitReader owner(dataset_), ownerHelper(dataset_), other(dataset_), otherHelper(dataset_);
    std::vector<std::string> events;
    const UnitWork work = [&](std::size_t split, const Readers& readers) {
        const bool isOwners = &readers.own == &owner;
        events.push_back(strCat(isOwners ? "owner " : "helper ", split));
        if (isOwners && split == 0) {
            // Its columns are open, and so is split 1.
            whenOpen([&] { EXPECT_TRUE(jobs_.help({other, otherHelper})); });
        }
        const auto arrays = jobs_.read({3, static_cast<std::int64_t>(split)},
                                       split == 0 ? front_ : back_, names_, {}, readers);
        EXPECT_TRUE(arrays.ok()) << arrays.status();
        EXPECT_EQ(first(*arrays, 0), split == 0 ? 0 : kJobRows * 7919);
        return true;
    };
    jobs_.runSplits(3, 2, work, {owner, ownerHelper});
    EXPECT_EQ(events, (std::vector<std::string>{"owner 0", "helper 1"}));
}

TEST_F(WorkStealingTest, NoSplitIsBegunBehindOneThatFails) {
    SplitReader owner(dataset_), ownerHelper(dataset_), other(dataset_), otherHelper(dataset_);
    std::vector<std::size_t> ran;
    const UnitWork work = [&](std::size_t split, const Readers&) {
        ran.push_back(split);
        return split != 1;
    };
    whenOpen([&] {
        jobs_.help({other, otherHelper});
        jobs_.help({other, otherHelper});
        EXPECT_FALSE(jobs_.help({other, otherHelper}));
    });
    jobs_.runSplits(3, 4, work, {owner, ownerHelper});
    EXPECT_EQ(ran, (std::vector<std::size_t>{0, 1}));
}

// A thread that works on another segment does not take a whole split.
TEST_F(WorkStealingTest, WhoReadsForAnotherSegmentTakesNoSplit) {
    SplitReader owner(dataset_), ownerHelper(dataset_), late(dataset_), lateHelper(dataset_);
    std::vector<const SplitReader*> ran;
    const UnitWork work = [&](std::size_t, const Readers& readers) {
        ran.push_back(&readers.own);
        return true;
    };
    whenOpen([&] { EXPECT_TRUE(jobs_.read({4}, back_, names_, {}, {late, lateHelper}).ok()); });
    jobs_.runSplits(3, 2, work, {owner, ownerHelper});
    EXPECT_EQ(ran, (std::vector<const SplitReader*>{&owner, &owner}));
}

TEST_F(WorkStealingTest, SmallReadsAreNotWorthIt) {
    const WorkStealing jobs(counters_, [] {}, 1000);
    EXPECT_FALSE(jobs.isWorthSharing(1'000'000, 1'000'000, 1, 1));
    EXPECT_FALSE(jobs.isWorthSharing(99, 99, 1, 10));
    EXPECT_TRUE(jobs.isWorthSharing(100, 100, 1, 10));
}

TEST_F(WorkStealingTest, FewRowsOfManyCostTheirPages) {
    const WorkStealing jobs(counters_, [] {}, 1'000'000);
    EXPECT_TRUE(jobs.isWorthSharing(2'500, 1'000'000, 1, 6)) << "a filter that few rows pass";
    EXPECT_FALSE(jobs.isWorthSharing(100, 1'000'000, 1, 6)) << "a page each at most";
    EXPECT_FALSE(jobs.isWorthSharing(2'500, 2'500, 1, 6));
    EXPECT_TRUE(jobs.isWorthSharing(2'500, 2'500, 100, 6)) << "lists";
}

}  // namespace
}  // namespace millrace::segment
