#include <gtest/gtest.h>

#include "app/gui/models/spec/spec_analysis.h"
#include "tests/unit/gui_spec/samples.h"

namespace millrace::gui {
namespace {

using Kind = SpecToken::Kind;

/// The kind of the piece at the first place of `word`.
Kind kindOf(const QString& text, const char* word) {
    const SpecSyntax syntax(text);
    const int place = static_cast<int>(text.indexOf(QString::fromUtf8(word)));
    for (const SpecToken& token : specTokens(syntax, meaningsOf(syntax))) {
        if (token.begin <= place && token.end > place) {
            return token.kind;
        }
    }
    ADD_FAILURE() << "no piece at " << word;
    return Kind::kText;
}

TEST(SpecTokens, ColourTheExample) {
    const QString text = movielens();
    EXPECT_EQ(kindOf(text, "Will this"), Kind::kComment);
    EXPECT_EQ(kindOf(text, "dataset:"), Kind::kKey);
    EXPECT_EQ(kindOf(text, "ratings.csv"), Kind::kText);
    EXPECT_EQ(kindOf(text, "hash01(userId, movieId) <"), Kind::kFunction);
    EXPECT_EQ(kindOf(text, "8192"), Kind::kNumber);
    EXPECT_EQ(kindOf(text, "is not null"), Kind::kOperator);
    EXPECT_EQ(kindOf(text, "drop-power-users"), Kind::kVariation);
    EXPECT_EQ(kindOf(text, "false"), Kind::kWord);
    EXPECT_EQ(kindOf(text, "rated_year: "), Kind::kName);
    EXPECT_EQ(kindOf(text, "recipe.negatives.keep"), Kind::kChange);
    EXPECT_EQ(kindOf(text, "adamw"), Kind::kWord);
    EXPECT_EQ(kindOf(text, "rating < 4.0"), Kind::kColumn);
}

TEST(SpecTokens, MarkUnknownKeys) {
    EXPECT_EQ(kindOf(QStringLiteral("train: {optimiser: adamw}\n"), "optimiser"),
              Kind::kUnknownKey);
    EXPECT_EQ(
        kindOf(QStringLiteral("variations:\n  - {name: a, set: {train.no: 1}}\n"), "train.no"),
        Kind::kUnknownKey);
}

TEST(SpecTokens, DoNotOverlapAndStayInTheirLines) {
    const SpecAnalysis analysis(movielens());
    const QStringList lines = movielens().split(u'\n');
    ASSERT_EQ(analysis.numLines(), lines.size());
    for (int line = 0; line < analysis.numLines(); ++line) {
        int end = 0;
        for (const SpecToken& token : analysis.tokensOf(line)) {
            EXPECT_GE(token.begin, end) << line;
            EXPECT_LE(token.end, lines[line].size()) << line;
            end = token.end;
        }
    }
}

TEST(SpecTokens, SayHowFarAChangeHasToBePainted) {
    const QString before =
        QStringLiteral("recipe:\n  - derive:\n      a: x + 1\n      b: y\nname: n\n");
    QString after = before;
    after.replace(QStringLiteral("derive"), QStringLiteral("deriv"));
    const SpecAnalysis one(before), two(after);
    EXPECT_NE(one.stateBehind(1), two.stateBehind(1));  // lines 2 and 3 stop being expressions
    EXPECT_EQ(one.stateBehind(3), two.stateBehind(3));
    QString longer = before;
    longer.replace(QStringLiteral("x + 1"), QStringLiteral("x + 12"));
    EXPECT_EQ(one.stateBehind(2), SpecAnalysis(longer).stateBehind(2));
}

}  // namespace
}  // namespace millrace::gui
