#include <QRandomGenerator>

#include <gtest/gtest.h>

#include "app/gui/models/spec/spec_meaning.h"
#include "app/gui/models/spec/spec_syntax.h"
#include "backend/spec/yaml/yaml_tree.h"
#include "tests/unit/gui_spec/samples.h"

namespace millrace::gui {
namespace {

std::string plainOf(const SpecSyntax& syntax, int index) {
    if (index < 0) {
        return "~";
    }
    const SyntaxNode& node = syntax.node(index);
    std::string out;
    for (const int child : node.children) {
        out += out.empty() ? "" : ",";
        out += node.isMap() ? syntax.node(child).key.toStdString() + ":" : "";
        out += plainOf(syntax, child);
    }
    return node.isMap()        ? "{" + out + "}"
           : node.isSequence() ? "[" + out + "]"
           : node.isScalar()   ? "'" + syntax.value(index).toStdString() + "'"
                               : "~";
}

std::string plainOf(const spec::YamlNode& node) {
    std::string out;
    for (const spec::YamlNode& item : node.items) {
        out += (out.empty() ? "" : ",") + plainOf(item);
    }
    for (const spec::YamlNode::Member& member : node.members) {
        out += (out.empty() ? "" : ",") + member.key + ":" + plainOf(member.value);
    }
    return node.isMap()        ? "{" + out + "}"
           : node.isSequence() ? "[" + out + "]"
           : node.isScalar()   ? "'" + node.text + "'"
                               : "~";
}

/// Empty if the reader's YAML refuses the text.
std::optional<std::string> readersView(const QString& text) {
    spec::SpecErrors errors;
    const auto tree = spec::parseYaml(text.toStdString(), false, errors);
    return tree ? std::optional(plainOf(*tree)) : std::nullopt;
}

void expectSame(const QString& text) {
    const auto expected = readersView(text);
    ASSERT_TRUE(expected.has_value()) << text.toStdString();
    const SpecSyntax syntax(text);
    EXPECT_EQ(plainOf(syntax, syntax.root()), *expected) << text.toStdString();
}

TEST(SpecSyntax, ReadsTheExampleAsTheReaderDoes) {
    ASSERT_FALSE(movielens().isEmpty());
    expectSame(movielens());
}

TEST(SpecSyntax, ReadsEveryStyleAsTheReaderDoes) {
    for (const char* text :
         {"a: 1\nb:\n  - x\n  - y: 2\n    z: [1, {k: v}]\nc: {p: 'it''s', q: \"a\\tb\"}\n",
          "a:\n- 1\n- 2\nb: text # note\n",
          "a: one\n  two\n  three\nb: |\n  line 1\n    deeper\n  line 2\nc: >-\n  folded\n  "
          "text\nd: 1\n",
          "a: {x: 1,\n    y: [1,\n  2], # note\n  z: 3}\nb: 2\n",
          "list:\n  -\n    name: x\n    set:\n      a.b: 1\n  - - 1\n    - 2\n",
          "a: \"two\n  lines\"\nb: 'more\n\n  lines'\n",
          "# only\n\nkey with blanks: value: no\n"}) {
        const QString all = QString::fromUtf8(text);
        if (readersView(all)) {
            expectSame(all);
        }
    }
}

TEST(SpecSyntax, ReadsQuotedKeysAnchorsAndFlowPairs) {
    expectSame(QStringLiteral("\"a b\": 1\n'c.d': {\"e\": 2}\nf: &anchor [1]\ng: [h: 1]\n"));
    const SpecSyntax syntax(QStringLiteral("\"a b\": 1\n"));
    EXPECT_EQ(syntax.node(1).key, QStringLiteral("a b"));
    EXPECT_EQ(syntax.node(1).keyEnd, 5);
}

TEST(SpecSyntax, EndsOpenBracketsAndQuotesWhereTheIndentSays) {
    const SpecSyntax syntax(QStringLiteral("a: {x: 1, y\nb: \"open\nc: [1,\nd: 4\n"));
    const SyntaxNode& root = syntax.node(0);
    ASSERT_EQ(root.children.size(), 4U);
    EXPECT_EQ(syntax.node(root.children[3]).key, QStringLiteral("d"));
    EXPECT_EQ(syntax.value(root.children[3]), QStringLiteral("4"));
    EXPECT_TRUE(syntax.node(root.children[0]).isOpen);
}

TEST(SpecSyntax, TakesAWordBeforeAKeyForAKeyBeingTyped) {
    const SpecSyntax syntax(
        QStringLiteral("train:\n  opti\n  learning_rate: 3\nbatch: {rows: 1}\n"));
    const int train = syntax.member(0, u"train");
    ASSERT_TRUE(syntax.node(train).isMap());
    EXPECT_FALSE(syntax.node(syntax.node(train).children[0]).hasColon);
    EXPECT_EQ(syntax.value(syntax.member(train, u"learning_rate")), QStringLiteral("3"));
    EXPECT_GE(syntax.member(0, u"batch"), 0);
}

TEST(SpecSyntax, SurvivesEveryPrefixAndEveryCutOfTheExample) {
    const QString all = movielens();
    for (int i = 0; i <= all.size(); ++i) {
        const SpecSyntax syntax(all.left(i));
        ASSERT_LE(syntax.numNodes(), i + 4);
        meaningsOf(syntax);
    }
}

TEST(SpecSyntax, SurvivesGarbage) {
    QRandomGenerator random(7);
    const QString letters = QStringLiteral("ab:-#{}[],'\"|>&*!\n\n   \t?%\\");
    for (int round = 0; round < 4000; ++round) {
        QString text;
        const int size = static_cast<int>(random.bounded(60));
        for (int i = 0; i < size; ++i) {
            text += letters[static_cast<int>(random.bounded(static_cast<int>(letters.size())))];
        }
        const SpecSyntax syntax(text);
        for (int i = 0; i < syntax.numNodes(); ++i) {
            const SyntaxNode& node = syntax.node(i);
            ASSERT_LE(node.begin, node.end) << text.toStdString();
            ASSERT_LE(node.end, text.size()) << text.toStdString();
            ASSERT_LE(node.keyEnd, text.size()) << text.toStdString();
            syntax.inlined(i);
        }
    }
}

TEST(SpecSyntax, ReadsDeepAndLongTextsWithinBounds) {
    const SpecSyntax deep(QString(5000, u'['));
    EXPECT_LT(deep.numNodes(), 100);
    const SpecSyntax longText(QString(kSpecTextMax + 1, u'a'));
    EXPECT_TRUE(longText.isEmpty());
}

TEST(SpecSyntax, QuotesTextsThatWouldReadBackAsOthers) {
    QRandomGenerator random(11);
    const QString letters = QStringLiteral("ab1.:#,'\"{}[]-&*!?|> \\%@`~=<\u00e4");
    for (int round = 0; round < 4000; ++round) {
        QString text;
        const int size = 1 + static_cast<int>(random.bounded(12));
        for (int i = 0; i < size; ++i) {
            text += letters[static_cast<int>(random.bounded(static_cast<int>(letters.size())))];
        }
        for (const bool isFlow : {false, true}) {
            const QString scalar = quotedScalar(text, isFlow, true);
            const QString doc = isFlow ? QStringLiteral("k: {a: %1, b: 1}\n").arg(scalar)
                                       : QStringLiteral("a: %1\nb: 1\n").arg(scalar);
            spec::SpecErrors errors;
            const auto tree = spec::parseYaml(doc.toStdString(), false, errors);
            ASSERT_TRUE(tree.has_value()) << doc.toStdString();
            const spec::YamlNode* map = isFlow ? tree->find("k") : &*tree;
            ASSERT_EQ(map->find("a")->text, text.toStdString()) << doc.toStdString();
            const SpecSyntax syntax(doc);
            const int holder = isFlow ? syntax.member(0, u"k") : 0;
            ASSERT_EQ(syntax.value(syntax.member(holder, u"a")), text) << doc.toStdString();
        }
    }
}

TEST(SpecMeaning, KnowsWhatAChangeSets) {
    const SpecSyntax syntax(movielens());
    const auto steps = recipeSteps(syntax);
    EXPECT_EQ(changeMeaning(QStringLiteral("recipe.negatives.keep"), steps).path,
              "recipe.sample.keep");
    EXPECT_EQ(changeMeaning(QStringLiteral("recipe.since.enabled"), steps).path, "recipe.enabled");
    EXPECT_EQ(changeMeaning(QStringLiteral("train.learning_rate"), steps).path,
              "train.learning_rate");
    EXPECT_EQ(changeMeaning(QStringLiteral("labels.liked"), steps).path, "labels.*");
    EXPECT_EQ(changeMeaning(QStringLiteral("recipe.derive.age_years"), steps).role,
              Meaning::Role::kExpression);
    EXPECT_EQ(changeMeaning(QStringLiteral("train.nothing"), steps).role, Meaning::Role::kUnknown);
    EXPECT_EQ(changeMeaning(QStringLiteral("recipe.nothing.keep"), steps).role,
              Meaning::Role::kUnknown);
}

TEST(SpecMeaning, FindsTheBaseValueOfAChange) {
    const SpecSyntax syntax(movielens());
    const auto steps = recipeSteps(syntax);
    const auto text = [&](const char* path) {
        const int node = baseNode(syntax, QString::fromUtf8(path), steps);
        return node < 0 ? std::string("none") : syntax.inlined(node).toStdString();
    };
    EXPECT_EQ(text("recipe.negatives.keep"), "1.0");
    EXPECT_EQ(text("recipe.since.enabled"), "false");
    EXPECT_EQ(text("recipe.since.filter"), "year >= 1990");
    EXPECT_EQ(text("train.checkpoint.keep"), "3");
    EXPECT_EQ(text("labels.liked"), "\"rating >= 4.0\"");
    EXPECT_EQ(text("labels.liked.expr"), "\"rating >= 4.0\"");
    EXPECT_EQ(text("train.momentum"), "none");
}

TEST(SpecMeaning, ListsThePathsThatAVariationMaySet) {
    const QStringList paths = changePaths(SpecSyntax(movielens()));
    for (const char* path : {"recipe.negatives.keep", "recipe.since.enabled", "recipe.since.filter",
                             "recipe.derive.is_new", "labels.liked", "embeddings.genres.rows",
                             "train.learning_rate", "model", "batch.epochs"}) {
        EXPECT_TRUE(paths.contains(QString::fromUtf8(path))) << path;
    }
    EXPECT_FALSE(paths.contains(QStringLiteral("variations")));
    EXPECT_FALSE(paths.contains(QStringLiteral("eval.dataset.where")));
}

}  // namespace
}  // namespace millrace::gui
