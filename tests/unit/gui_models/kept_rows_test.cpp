#include "app/gui/models/runs/kept_rows.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::gui {
namespace {

using testing::ElementsAre;

/// Shows the number of each row in the source.
class SourceRows final : public KeptRows {
 public:
    using KeptRows::announce;
    using KeptRows::moveTo;
    using KeptRows::removeSources;
    using KeptRows::resetTo;
    using KeptRows::rowOfSource;
    using KeptRows::shiftSources;
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : 2;
    }
    QVariant data(const QModelIndex& index, int role) const override {
        return role == Qt::DisplayRole ? QVariant(sourceRow(index.row())) : QVariant();
    }
    std::vector<int> shown() const {
        std::vector<int> sources;
        for (int row = 0; row < rowCount(); ++row) {
            sources.push_back(sourceRow(row));
        }
        return sources;
    }
    void show(const std::vector<int>& sources) {
        std::vector<RunRow> rows;
        for (const int source : sources) {
            rows.push_back({source, 0, 0, false});
        }
        moveTo(rows);
    }
};

class KeptRowsTest : public testing::Test {
 protected:
    SourceRows rows;
    QAbstractItemModelTester tester{&rows, QAbstractItemModelTester::FailureReportingMode::Fatal};
    QSignalSpy resets{&rows, &QAbstractItemModel::modelReset};
};

TEST_F(KeptRowsTest, MovesWhatIsSelectedWithItsRun) {
    rows.show({4, 2, 7});
    const QPersistentModelIndex kept = rows.index(2, 1);
    rows.show({7, 9, 4});
    EXPECT_THAT(rows.shown(), ElementsAre(7, 9, 4));
    EXPECT_EQ(kept.row(), 0);
    EXPECT_EQ(kept.column(), 1);
    EXPECT_EQ(rows.rowOfSource(9), 1);
    EXPECT_EQ(rows.rowOfSource(2), -1);
    EXPECT_EQ(rows.rowOfSource(100), -1) << "a source that was never there";
    EXPECT_EQ(resets.count(), 0);
}

TEST_F(KeptRowsTest, GetsFromAnyOrderToAnyOther) {
    std::mt19937 random(5);
    std::vector<int> all(40);
    std::iota(all.begin(), all.end(), 0);
    for (int round = 0; round < 300; ++round) {
        std::shuffle(all.begin(), all.end(), random);
        const std::vector<int> wanted(all.begin(), all.begin() + random() % 40);
        const QPersistentModelIndex kept =
            rows.rowCount() > 0
                ? rows.index(static_cast<int>(random() % static_cast<unsigned>(rows.rowCount())), 0)
                : QModelIndex();
        const int source = kept.isValid() ? rows.sourceRow(kept.row()) : -1;
        rows.show(wanted);
        ASSERT_EQ(rows.shown(), wanted) << "round " << round;
        ASSERT_EQ(kept.isValid() ? rows.sourceRow(kept.row()) : -1,
                  rows.rowOfSource(source) >= 0 ? source : -1);
    }
    EXPECT_EQ(resets.count(), 0);
}

TEST_F(KeptRowsTest, ResetsWhereChangesAreVeryScattered) {
    std::vector<int> all(400), odd;
    std::iota(all.begin(), all.end(), 0);
    std::copy_if(all.begin(), all.end(), std::back_inserter(odd), [](int i) { return i % 2 == 1; });
    rows.show(odd);
    EXPECT_EQ(resets.count(), 0) << "one range to insert";
    rows.show(all);
    EXPECT_EQ(resets.count(), 1);
    EXPECT_EQ(rows.shown(), all);
}

TEST_F(KeptRowsTest, FollowsSourcesThatGo) {
    rows.show({0, 5, 3, 4, 1});
    rows.removeSources(3, 4);
    EXPECT_THAT(rows.shown(), ElementsAre(0, 5, 1));
    rows.shiftSources(3, 2);
    EXPECT_THAT(rows.shown(), ElementsAre(0, 3, 1)) << "5 has moved up";
    EXPECT_EQ(rows.rowOfSource(3), 1);
}

TEST_F(KeptRowsTest, TellsRowsThatStayButBecomeOthers) {
    rows.show({0, 1});
    QSignalSpy changes(&rows, &QAbstractItemModel::dataChanged);
    rows.moveTo({{0, 0, 1, false}, {1, 1, 0, false}});
    EXPECT_EQ(changes.count(), 2);
    EXPECT_EQ(rows.depth(1), 1);
    rows.moveTo({{0, 0, 1, false}, {1, 1, 0, false}});
    EXPECT_EQ(changes.count(), 2) << "nothing is new";
}

TEST_F(KeptRowsTest, AnnouncesNeighboursTogether) {
    rows.show({0, 1, 2, 3, 4, 5});
    QSignalSpy changes(&rows, &QAbstractItemModel::dataChanged);
    rows.announce({1, 2, 2, 3, 5});
    ASSERT_EQ(changes.count(), 2);
    EXPECT_EQ(changes[0][0].toModelIndex().row(), 1);
    EXPECT_EQ(changes[0][1].toModelIndex(), rows.index(3, 1));
    EXPECT_EQ(changes[1][0].toModelIndex().row(), 5);
}

}  // namespace
}  // namespace millrace::gui
