#include "app/gui/models/sheet/sheet_text.h"

#include <QRandomGenerator>

#include <gtest/gtest.h>

#include "app/gui/models/sheet/sheet_tsv.h"
#include "app/gui/models/spec/spec_local_check.h"
#include "backend/spec/yaml/yaml_tree.h"
#include "tests/unit/gui_spec/samples.h"

namespace millrace::gui {
namespace {

/// Edits `text` with the answer of its sheet's editor.
template <class Edit>
QString edited(const QString& text, Edit edit) {
    const SpecSyntax syntax(text);
    const Sheet sheet = readSheet(syntax);
    return applyEdits(text, edit(SheetEditor(syntax, sheet)));
}

QString cellOf(const QString& text, int row, const QString& key) {
    const SpecSyntax syntax(text);
    const Sheet sheet = readSheet(syntax);
    return cellText(syntax, sheet.rows.at(static_cast<std::size_t>(row)).cell(key));
}

QStringList linesGone(const QString& before, const QString& after) {
    QStringList gone;
    const QStringList lines = after.split(u'\n');
    for (const QString& line : before.split(u'\n')) {
        if (!lines.contains(line)) {
            gone << line;
        }
    }
    return gone;
}

bool isYaml(const QString& text) {
    spec::SpecErrors errors;
    return spec::parseYaml(text.toStdString(), false, errors).has_value();
}

const QString kKeep = QStringLiteral("recipe.negatives.keep");

TEST(SheetText, ReadsTheExample) {
    const SpecSyntax syntax(movielens());
    const Sheet sheet = readSheet(syntax);
    ASSERT_EQ(sheet.rows.size(), 7U);
    EXPECT_EQ(sheet.rows[0].name, QStringLiteral("keep-30"));
    EXPECT_EQ(
        sheet.columns,
        (QStringList{kKeep, QStringLiteral("recipe.since.enabled"), QStringLiteral("labels.liked"),
                     QStringLiteral("recipe.drop-power-users.enabled"), QStringLiteral("model"),
                     QStringLiteral("batch.epochs")}));
    EXPECT_EQ(cellText(syntax, sheet.rows[3].cell(QStringLiteral("labels.liked"))),
              QStringLiteral("rating >= 3.5"));
    EXPECT_EQ(cellText(syntax, sheet.rows[5].cell(QStringLiteral("model"))),
              QStringLiteral("{type: target_mean, keys: [movieId], smoothing: 5}"));
}

TEST(SheetText, ChangesOneCellAndNothingElse) {
    const QString before = movielens();
    const QString after = edited(
        before, [](const SheetEditor& e) { return e.setCell(0, kKeep, QStringLiteral("0.25")); });
    EXPECT_EQ(
        linesGone(before, after),
        (QStringList{QStringLiteral("  - {name: keep-30, set: {recipe.negatives.keep: 0.3}}")}));
    EXPECT_TRUE(
        after.contains(QStringLiteral("  - {name: keep-30, set: {recipe.negatives.keep: 0.25}}")));
}

TEST(SheetText, KeepsTheQuotesOfAnExpression) {
    const QString after = edited(movielens(), [](const SheetEditor& e) {
        return e.setCell(3, QStringLiteral("labels.liked"), QStringLiteral("rating >= 3.0"));
    });
    EXPECT_TRUE(after.contains(QStringLiteral("set: {labels.liked: \"rating >= 3.0\"}")));
}

TEST(SheetText, AddsAndRemovesCellsOfAnyStyle) {
    const QString flow = edited(movielens(), [](const SheetEditor& e) {
        return e.setCell(1, QStringLiteral("train.learning_rate"), QStringLiteral("0.01"));
    });
    EXPECT_TRUE(flow.contains(QStringLiteral(
        "  - {name: keep-10, set: {recipe.negatives.keep: 0.1, train.learning_rate: 0.01}}")));
    EXPECT_EQ(edited(flow,
                     [](const SheetEditor& e) {
                         return e.setCell(1, QStringLiteral("train.learning_rate"), {});
                     }),
              movielens());
    const QString block = QStringLiteral(
        "variations:\n  # one\n  - name: a\n    set:\n      batch.rows: 64  # small\n      "
        "batch.seed: 1\n  - name: b\n");
    const QString added = edited(block, [](const SheetEditor& e) {
        return e.setCell(0, QStringLiteral("batch.epochs"), QStringLiteral("2"));
    });
    EXPECT_TRUE(
        added.contains(QStringLiteral("      batch.seed: 1\n      batch.epochs: 2\n  - name: b")));
    const QString removed = edited(
        added, [](const SheetEditor& e) { return e.setCell(0, QStringLiteral("batch.rows"), {}); });
    EXPECT_FALSE(removed.contains(QStringLiteral("batch.rows")));
    EXPECT_TRUE(removed.contains(QStringLiteral("  # one\n")));
    const QString noSet = edited(block, [](const SheetEditor& e) {
        return e.setCell(1, QStringLiteral("batch.epochs"), QStringLiteral("2"));
    });
    EXPECT_TRUE(noSet.endsWith(QStringLiteral("  - name: b\n    set: {batch.epochs: 2}\n")));
}

TEST(SheetText, ReplacesABlockValueByOneLine) {
    const QString block = QStringLiteral(
        "variations:\n  - name: a\n    set:\n      model:\n        type: mlp\n        hidden: "
        "[8]\n      batch.seed: 1\n");
    EXPECT_EQ(cellOf(block, 0, QStringLiteral("model")),
              QStringLiteral("{type: mlp, hidden: [8]}"));
    const QString after = edited(block, [](const SheetEditor& e) {
        return e.setCell(0, QStringLiteral("model"), QStringLiteral("{type: mlp, hidden: [16]}"));
    });
    EXPECT_EQ(after, QStringLiteral("variations:\n  - name: a\n    set:\n      model: {type: mlp, "
                                    "hidden: [16]}\n      batch.seed: 1\n"));
}

TEST(SheetText, AddsRowsWhereverTheListStands) {
    const auto add = [](const QString& text) {
        return edited(text, [](const SheetEditor& e) {
            return e.append(
                {{QStringLiteral("x"), {{QStringLiteral("batch.seed"), QStringLiteral("8")}}}});
        });
    };
    const QString row = QStringLiteral("{name: x, set: {batch.seed: 8}}");
    EXPECT_EQ(add(QStringLiteral("name: n")),
              QStringLiteral("name: n\nvariations:\n  - ") + row + u'\n');
    EXPECT_EQ(add(QStringLiteral("variations:\nname: n\n")),
              QStringLiteral("variations:\n  - ") + row + QStringLiteral("\nname: n\n"));
    EXPECT_EQ(add(QStringLiteral("variations: []\nname: n\n")),
              QStringLiteral("variations:\n  - ") + row + QStringLiteral("\nname: n\n"));
    EXPECT_EQ(add(QStringLiteral("variations: [{name: a, set: {}}]\n")),
              QStringLiteral("variations: [{name: a, set: {}}, ") + row + QStringLiteral("]\n"));
    EXPECT_EQ(add(QStringLiteral("variations:\n- {name: a, set: {}} # note\nname: n\n")),
              QStringLiteral("variations:\n- {name: a, set: {}} # note\n- ") + row +
                  QStringLiteral("\nname: n\n"));
    EXPECT_TRUE(add(movielens()).endsWith(QStringLiteral("batch.epochs: 1}\n  - ") + row + u'\n'));
}

TEST(SheetText, DuplicatesARowAsItIsWritten) {
    const QString after = edited(
        movielens(), [](const SheetEditor& e) { return e.duplicate(5, QStringLiteral("again")); });
    EXPECT_TRUE(
        after.contains(QStringLiteral("  - name: again\n    set: {model: {type: target_mean, keys: "
                                      "[movieId], smoothing: 5}, batch.epochs: 1}\n")));
    EXPECT_TRUE(linesGone(movielens(), after).isEmpty());
}

TEST(SheetText, RemovesRowsAndKeepsTheCommentsOfOthers) {
    const QString after =
        edited(movielens(), [](const SheetEditor& e) { return e.remove({1, 6}); });
    EXPECT_EQ(linesGone(movielens(), after).size(), 3);
    EXPECT_TRUE(after.contains(QStringLiteral("# What a model has to beat")));
    const QString none =
        edited(after, [](const SheetEditor& e) { return e.remove({0, 1, 2, 3, 4}); });
    EXPECT_TRUE(none.contains(QStringLiteral("variations: []")));
    EXPECT_TRUE(isYaml(none));
}

/// Random rows in random YAML styles.
QString randomSpec(QRandomGenerator& random) {
    static const QStringList kKeys = {QStringLiteral("batch.rows"), QStringLiteral("labels.liked"),
                                      QStringLiteral("model.hidden"),
                                      QStringLiteral("recipe.neg.keep"),
                                      QStringLiteral("train.optimizer")};
    static const QStringList kValues = {QStringLiteral("64"), QStringLiteral("\"rating >= 3\""),
                                        QStringLiteral("[64, 32]"), QStringLiteral("'it''s'"),
                                        QStringLiteral("adamw")};
    QString text = QStringLiteral(
        "# head\nname: n\nrecipe:\n  - {name: neg, sample: {keep: 1.0}}\n"
        "variations:  # all of them\n");
    const int rows = 1 + static_cast<int>(random.bounded(5));
    for (int r = 0; r < rows; ++r) {
        QStringList parts;
        for (int c = 0; c < kKeys.size(); ++c) {
            if (random.bounded(2) == 0) {
                parts << kKeys[c] + QStringLiteral(": ") + kValues[c];
            }
        }
        if (random.bounded(3) == 0) {
            text += QStringLiteral("  # about row %1\n").arg(r);
        }
        const QString name = QStringLiteral("v%1").arg(r);
        if (random.bounded(2) == 0 || parts.isEmpty()) {
            text += QStringLiteral("  - {name: %1, set: {%2}}")
                        .arg(name, parts.join(QStringLiteral(", ")));
        } else {
            text += QStringLiteral("  - name: %1\n    set:\n      ").arg(name) +
                    parts.join(QStringLiteral("\n      "));
        }
        text += random.bounded(3) == 0 ? QStringLiteral("  # end\n") : QStringLiteral("\n");
    }
    return text + QStringLiteral("# tail\nnotes: last\n");
}

int numComments(const QString& text) {
    return static_cast<int>(text.count(u'#'));
}

TEST(SheetText, KeepsEverythingElseThroughRandomEdits) {
    QRandomGenerator random(20);
    static const QStringList kKeys = {QStringLiteral("batch.rows"), QStringLiteral("labels.liked"),
                                      QStringLiteral("model.hidden"),
                                      QStringLiteral("train.optimizer"),
                                      QStringLiteral("batch.seed")};
    static const QStringList kNew = {QStringLiteral("128"), QStringLiteral("rating > 1, a: b # c"),
                                     QStringLiteral("[8]"), QStringLiteral("sgd"),
                                     QStringLiteral("9")};
    for (int round = 0; round < 3000; ++round) {
        QString text = randomSpec(random);
        ASSERT_TRUE(isYaml(text)) << text.toStdString();
        for (int step = 0; step < 4; ++step) {
            const SpecSyntax syntax(text);
            const Sheet sheet = readSheet(syntax);
            ASSERT_FALSE(sheet.rows.empty());
            const int row = static_cast<int>(random.bounded(static_cast<int>(sheet.rows.size())));
            const int key = static_cast<int>(random.bounded(static_cast<int>(kKeys.size())));
            const bool isClear = random.bounded(4) == 0;
            const QString value = isClear ? QString() : kNew[key];
            const QString after =
                applyEdits(text, SheetEditor(syntax, sheet).setCell(row, kKeys[key], value));
            ASSERT_TRUE(isYaml(after)) << text.toStdString() << "\n->\n" << after.toStdString();
            ASSERT_EQ(cellOf(after, row, kKeys[key]), value)
                << text.toStdString() << after.toStdString();
            const SpecSyntax now(after);
            const Sheet sheetNow = readSheet(now);
            ASSERT_EQ(sheetNow.rows.size(), sheet.rows.size()) << after.toStdString();
            for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
                ASSERT_EQ(sheetNow.rows[r].name, sheet.rows[r].name);
                for (const auto& [other, node] : sheet.rows[r].cells) {
                    if (static_cast<int>(r) != row || other != kKeys[key]) {
                        ASSERT_EQ(cellText(now, sheetNow.rows[r].cell(other)),
                                  cellText(syntax, node))
                            << text.toStdString() << "\n->\n"
                            << after.toStdString();
                    }
                }
            }
            ASSERT_TRUE(after.startsWith(QStringLiteral("# head\nname: n\n")));
            ASSERT_TRUE(after.endsWith(QStringLiteral("# tail\nnotes: last\n")));
            text = after;
        }
    }
}

TEST(SheetText, AddsCopiesRenamesAndRemovesRandomRows) {
    QRandomGenerator random(21);
    for (int round = 0; round < 2000; ++round) {
        const QString text = randomSpec(random);
        const SpecSyntax syntax(text);
        const Sheet sheet = readSheet(syntax);
        const SheetEditor editor(syntax, sheet);
        const int row = static_cast<int>(random.bounded(static_cast<int>(sheet.rows.size())));
        const auto names = [](const QString& of) {
            QStringList all;
            for (const SheetRow& r : readSheet(SpecSyntax(of)).rows) {
                all << r.name;
            }
            return all;
        };
        QStringList expected = names(text);
        const QString added = applyEdits(text, editor.append({{QStringLiteral("new one"), {}}}));
        ASSERT_EQ(names(added), expected + QStringList{QStringLiteral("new one")})
            << added.toStdString();
        ASSERT_EQ(numComments(added), numComments(text));
        expected.insert(row + 1, QStringLiteral("copy"));
        const QString copied = applyEdits(text, editor.duplicate(row, QStringLiteral("copy")));
        ASSERT_EQ(names(copied), expected) << text.toStdString() << copied.toStdString();
        expected = names(text);
        expected[row] = QStringLiteral("re: named");
        const QString renamed = applyEdits(text, editor.rename(row, QStringLiteral("re: named")));
        ASSERT_EQ(names(renamed), expected) << renamed.toStdString();
        expected.removeAt(row);
        const QString removed = applyEdits(text, editor.remove({row}));
        ASSERT_EQ(names(removed), expected) << text.toStdString() << removed.toStdString();
        for (const QString& after : {added, copied, renamed, removed}) {
            ASSERT_TRUE(isYaml(after)) << after.toStdString();
        }
    }
}

TEST(SheetText, SaysWhyAListCannotBeEdited) {
    EXPECT_FALSE(readSheet(SpecSyntax(QStringLiteral("variations: 3\n"))).why.isEmpty());
    EXPECT_FALSE(readSheet(SpecSyntax(QStringLiteral("just text"))).why.isEmpty());
    EXPECT_TRUE(readSheet(SpecSyntax(QStringLiteral("name: x\n"))).why.isEmpty());
}

TEST(SheetTsv, ReadsWhatSpreadsheetsWrite) {
    const auto rows =
        parseTsv(QStringLiteral("name\tkeep\r\na\t0.5\r\n\"b \"\"x\"\"\ny\"\t\r\n\r\n"));
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[1], (QStringList{QStringLiteral("a"), QStringLiteral("0.5")}));
    EXPECT_EQ(rows[2], (QStringList{QStringLiteral("b \"x\"\ny"), QString()}));
    EXPECT_EQ(parseTsv(toTsv(rows)), rows);
}

TEST(SheetText, FindsFreeNames) {
    EXPECT_EQ(freeName(QStringLiteral("a"), {}), QStringLiteral("a"));
    EXPECT_EQ(freeName(QStringLiteral("keep-30"), {QStringLiteral("keep-30")}),
              QStringLiteral("keep-30-2"));
    EXPECT_EQ(freeName(QStringLiteral("a-2"), {QStringLiteral("a"), QStringLiteral("a-2")}),
              QStringLiteral("a-3"));
    EXPECT_EQ(freeName({}, {}), QStringLiteral("variation-1"));
}

TEST(LocalCheck, FindsMistakesWithoutADataset) {
    values::SpecSource source;
    source.text = movielens().toStdString();
    EXPECT_TRUE(checkLocally(source).errors.empty());
    EXPECT_EQ(checkLocally(source).variations.size(), 7U);
    source.text = movielens()
                      .replace(QStringLiteral("learning_rate"), QStringLiteral("learning_rat"))
                      .toStdString();
    const LocalCheck check = checkLocally(source);
    ASSERT_FALSE(check.errors.empty());
    EXPECT_NE(check.errors[0].message.find("learning_rate"), std::string::npos);
    EXPECT_EQ(check.errors[0].line, 44);
}

}  // namespace
}  // namespace millrace::gui
