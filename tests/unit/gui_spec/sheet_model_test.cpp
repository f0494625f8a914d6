#include "app/gui/models/sheet/sheet_model.h"

#include <QAbstractItemModelTester>
#include <QRandomGenerator>

#include <gtest/gtest.h>

#include "app/gui/models/spec/spec_local_check.h"
#include "tests/unit/gui_spec/samples.h"

namespace millrace::gui {
namespace {

const QString kKeepValue = QStringLiteral("recipe.negatives.keep");

/// A model with its text, as the page has them.
class SheetModelTest : public testing::Test {
 protected:
    SheetModelTest() : tester_(&model, QAbstractItemModelTester::FailureReportingMode::Fatal) {
        QObject::connect(&model, &SheetModel::textEdits, &model,
                         [this](const TextEdits& edits, const QString&) {
                             undo.push_back(text);
                             show(applyEdits(text, edits));
                         });
        QObject::connect(&model, &SheetModel::refused, &model,
                         [this](const QString& sentence) { refusal = sentence; });
        show(movielens());
    }
    void show(const QString& now) {
        text = now;
        model.setText(text);
        values::SpecSource source;
        source.text = text.toStdString();
        model.setErrors(checkLocally(source).errors);
    }
    QModelIndex cell(int row, const QString& key) {
        for (int column = SheetModel::kFirstKey; column < model.columnCount(); ++column) {
            if (model.keyOf(column) == key) {
                return model.index(row, column);
            }
        }
        return {};
    }
    QString shown(int row, const QString& key) { return cell(row, key).data().toString(); }

    SheetModel model;
    QString text, refusal;
    std::vector<QString> undo;

 private:
    QAbstractItemModelTester tester_;
};

TEST_F(SheetModelTest, ShowsTheBaseAndTheVariations) {
    EXPECT_EQ(model.rowCount(), 8);
    EXPECT_EQ(model.columnCount(), SheetModel::kFirstKey + 6);
    EXPECT_EQ(shown(0, kKeepValue), QStringLiteral("1.0"));
    EXPECT_EQ(shown(1, kKeepValue), QStringLiteral("0.3"));
    EXPECT_EQ(shown(3, kKeepValue), QString());
    EXPECT_TRUE(cell(1, kKeepValue).data(SheetModel::kIsChangedRole).toBool());
    EXPECT_EQ(model.index(1, 0).data().toString(), QStringLiteral("keep-30"));
}

TEST_F(SheetModelTest, EditsACellAndUndoBringsItBack) {
    ASSERT_TRUE(model.setData(cell(1, kKeepValue), QStringLiteral("0.25"), Qt::EditRole));
    EXPECT_TRUE(
        text.contains(QStringLiteral("{name: keep-30, set: {recipe.negatives.keep: 0.25}}")));
    show(undo.back());
    EXPECT_EQ(shown(1, kKeepValue), QStringLiteral("0.3"));
}

TEST_F(SheetModelTest, EditsTheBaseInPlace) {
    ASSERT_TRUE(
        model.setData(cell(0, QStringLiteral("batch.epochs")), QStringLiteral("4"), Qt::EditRole));
    EXPECT_TRUE(
        text.contains(QStringLiteral("batch: {rows: 512, micro_rows: 256, epochs: 4, seed: 7")));
    ASSERT_TRUE(model.setData(cell(0, QStringLiteral("labels.liked")), QStringLiteral("rating > 4"),
                              Qt::EditRole));
    EXPECT_TRUE(text.contains(QStringLiteral("labels: {liked: \"rating > 4\"}")));
}

TEST_F(SheetModelTest, PutsErrorsIntoTheirCells) {
    model.setData(cell(1, kKeepValue), QStringLiteral("7"), Qt::EditRole);
    EXPECT_TRUE(cell(1, kKeepValue)
                    .data(SheetModel::kErrorRole)
                    .toString()
                    .contains(QStringLiteral("keep")));
    EXPECT_EQ(model.index(1, SheetModel::kCheckColumn).data().toString(), QStringLiteral("error"));
    EXPECT_TRUE(cell(2, kKeepValue).data(SheetModel::kErrorRole).toString().isEmpty());
}

TEST_F(SheetModelTest, SaysWhatIsWrongBeforeAValueIsTaken) {
    EXPECT_EQ(model.problemWith(cell(1, kKeepValue), QStringLiteral("0.4")), QString());
    EXPECT_FALSE(model.problemWith(cell(1, kKeepValue), QStringLiteral("two")).isEmpty());
    EXPECT_FALSE(
        model.problemWith(cell(1, QStringLiteral("labels.liked")), QStringLiteral("rating >="))
            .isEmpty());
    EXPECT_FALSE(model.problemWith(model.index(1, 0), QStringLiteral("keep-10")).isEmpty());
    EXPECT_TRUE(text == movielens());
}

TEST_F(SheetModelTest, RefusesANameThatIsTaken) {
    EXPECT_FALSE(model.setData(model.index(1, 0), QStringLiteral("keep-10"), Qt::EditRole));
    EXPECT_TRUE(refusal.contains(QStringLiteral("keep-10")));
    EXPECT_TRUE(model.setData(model.index(1, 0), QStringLiteral("keep-31"), Qt::EditRole));
    EXPECT_EQ(model.nameOf(1), QStringLiteral("keep-31"));
}

TEST_F(SheetModelTest, AddsCopiesAndRemovesRows) {
    model.addRow();
    EXPECT_EQ(model.nameOf(8), QStringLiteral("variation-1"));
    model.duplicateRow(1);
    EXPECT_EQ(model.nameOf(2), QStringLiteral("keep-30-2"));
    EXPECT_EQ(shown(2, kKeepValue), QStringLiteral("0.3"));
    model.removeRows({2, 9});
    EXPECT_EQ(text, movielens());
    model.removeRows({0});
    EXPECT_FALSE(refusal.isEmpty());
}

TEST_F(SheetModelTest, AddsAColumnThatHasNoCellYet) {
    EXPECT_FALSE(model.addColumn(QStringLiteral("train.nothing")));
    EXPECT_TRUE(refusal.contains(QStringLiteral("train.nothing")));
    ASSERT_TRUE(model.addColumn(QStringLiteral("train.learning_rate")));
    EXPECT_EQ(shown(0, QStringLiteral("train.learning_rate")), QStringLiteral("0.003"));
    EXPECT_EQ(text, movielens());
    model.setData(cell(2, QStringLiteral("train.learning_rate")), QStringLiteral("0.01"),
                  Qt::EditRole);
    EXPECT_TRUE(text.contains(QStringLiteral("keep: 0.1, train.learning_rate: 0.01}}")));
    model.removeColumnOfKey(QStringLiteral("train.learning_rate"));
    EXPECT_EQ(text, movielens());
    EXPECT_FALSE(cell(1, QStringLiteral("train.learning_rate")).isValid());
}

TEST_F(SheetModelTest, PastesATableWithAHeader) {
    const QString tsv = QStringLiteral(
        "name\trecipe.negatives.keep\ttrain.learning_rate\nkeep-30\t0.35\t\nlr-high\t\t0.01\nlr-"
        "low\t\t0.0001\n");
    ASSERT_TRUE(model.paste({}, tsv));
    EXPECT_EQ(shown(1, kKeepValue), QStringLiteral("0.35"));
    EXPECT_EQ(model.nameOf(8), QStringLiteral("lr-high"));
    EXPECT_EQ(shown(9, QStringLiteral("train.learning_rate")), QStringLiteral("0.0001"));
    EXPECT_EQ(model.rowCount(), 10);
    EXPECT_TRUE(model.rowError(8).isEmpty()) << model.rowError(8).toStdString();
}

TEST_F(SheetModelTest, PastesCellsFromTheCurrentOneOn) {
    ASSERT_TRUE(model.paste(cell(1, kKeepValue), QStringLiteral("0.5\n0.6\n0.7\n")));
    EXPECT_EQ(shown(1, kKeepValue), QStringLiteral("0.5"));
    EXPECT_EQ(shown(3, kKeepValue), QStringLiteral("0.7"));
    ASSERT_TRUE(model.paste(model.index(7, 0), QStringLiteral("last\t0.1\nmore\t0.2\n")));
    EXPECT_EQ(model.nameOf(7), QStringLiteral("last"));
    EXPECT_EQ(model.nameOf(8), QStringLiteral("more"));
    EXPECT_EQ(shown(8, kKeepValue), QStringLiteral("0.2"));
    EXPECT_EQ(undo.size(), 2U);  // one step each
}

TEST_F(SheetModelTest, CopiesWhatItCanPaste) {
    QModelIndexList all;
    for (int row = 1; row < model.rowCount(); ++row) {
        for (int column = 0; column < model.columnCount(); ++column) {
            all << model.index(row, column);
        }
    }
    const QString tsv = model.copy(all);
    EXPECT_TRUE(tsv.startsWith(QStringLiteral("name\trecipe.negatives.keep\t")));
    model.removeRows({1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(model.rowCount(), 1);
    ASSERT_TRUE(model.paste({}, tsv));
    EXPECT_EQ(model.rowCount(), 8);
    EXPECT_EQ(model.copy(all), tsv);
}

TEST_F(SheetModelTest, RemembersTicksThroughEdits) {
    EXPECT_TRUE(model.isBaseTicked());
    model.setData(model.index(2, 0), Qt::Checked, Qt::CheckStateRole);
    model.setData(model.index(2, 0), QStringLiteral("keep-11"), Qt::EditRole);
    EXPECT_EQ(model.tickedVariations(), std::vector<std::string>{"keep-11"});
    model.removeRows({1});
    EXPECT_EQ(model.numTicked(), 2);
    model.tickAll(false);
    EXPECT_EQ(model.numTicked(), 0);
}

TEST_F(SheetModelTest, ShowsWhatTheDaemonPlanned) {
    values::CheckedRun run;
    run.variation = "keep-30";
    run.rows = 80668;
    run.files = 1;
    model.setRuns({run}, true);
    EXPECT_EQ(model.index(1, SheetModel::kCheckColumn).data().toString(),
              QStringLiteral("80.7 k rows"));
    EXPECT_TRUE(model.index(1, SheetModel::kCheckColumn)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("80,668 rows")));
}

TEST_F(SheetModelTest, FollowsRandomTexts) {
    QRandomGenerator random(3);
    const QStringList lines = movielens().split(u'\n');
    for (int round = 0; round < 500; ++round) {
        QStringList some = lines;
        const int edits = 1 + static_cast<int>(random.bounded(4));
        for (int i = 0; i < edits; ++i) {
            const int at = static_cast<int>(random.bounded(static_cast<int>(some.size())));
            if (random.bounded(2) == 0) {
                some.removeAt(at);
            } else {
                some[at] = some[at].left(
                    static_cast<int>(random.bounded(static_cast<int>(some[at].size()) + 1)));
            }
        }
        model.setText(some.join(u'\n'));
        // The base always has its row; every other row needs a line of the text.
        EXPECT_GE(model.rowCount(), 1);
        EXPECT_LE(model.rowCount(), 1 + some.size());
        EXPECT_TRUE(model.isBase(0) && model.nameOf(0).isEmpty());
        for (int row = 0; row < model.rowCount(); ++row) {
            for (int column = 0; column < model.columnCount(); ++column) {
                EXPECT_TRUE(model.index(row, column).isValid());
                model.index(row, column).data();
            }
        }
    }
}

}  // namespace
}  // namespace millrace::gui
