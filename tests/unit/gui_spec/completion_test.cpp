#include <gtest/gtest.h>

#include "app/gui/models/spec/spec_completion.h"
#include "tests/unit/gui_spec/samples.h"

namespace millrace::gui {
namespace {

KnownColumns sampleColumns() {
    return {{{QStringLiteral("userId"), QStringLiteral("int64")},
             {QStringLiteral("movieId"), QStringLiteral("int64")},
             {QStringLiteral("rating"), QStringLiteral("double")},
             {QStringLiteral("timestamp"), QStringLiteral("int64")}},
            {{QStringLiteral("age_years"), QStringLiteral("double")}}};
}

struct Answer {
    CompletionList list;
    QStringList labels;
    QString after;  ///< the text after the first completion was taken
    bool has(const char* label) const { return labels.contains(QString::fromUtf8(label)); }
};

/// `marked`: a spec with a bar where the cursor is.
Answer at(const QString& marked) {
    const int place = static_cast<int>(marked.lastIndexOf(u'|'));
    QString text = marked;
    text.remove(place, 1);
    Answer answer;
    answer.list = completionsAt(text, place, sampleColumns());
    for (const Completion& item : answer.list.items) {
        answer.labels << item.label;
    }
    if (!answer.list.items.empty()) {
        answer.after = text;
        answer.after.replace(answer.list.begin, answer.list.end - answer.list.begin,
                             answer.list.items[0].insert);
    }
    return answer;
}

TEST(SpecCompletion, OffersKeysAtTheTop) {
    const Answer answer = at(QStringLiteral("dataset: {path: a.csv}\nmo|\n"));
    ASSERT_FALSE(answer.labels.isEmpty());
    EXPECT_EQ(answer.labels[0], QStringLiteral("model"));
    EXPECT_FALSE(answer.has("dataset"));
    EXPECT_EQ(answer.after, QStringLiteral("dataset: {path: a.csv}\nmodel:\n  \n"));
    EXPECT_EQ(answer.list.items[0].doc, QStringLiteral("the built-in model"));
}

TEST(SpecCompletion, OffersWhatIsStillMissingOnAnEmptyLine) {
    const Answer answer = at(QStringLiteral("train:\n  optimizer: sgd\n  |\nname: x\n"));
    EXPECT_TRUE(answer.has("learning_rate"));
    EXPECT_FALSE(answer.has("optimizer"));
    EXPECT_FALSE(answer.has("dataset"));
}

TEST(SpecCompletion, OffersKeysOfASectionThatHasNoneYet) {
    EXPECT_TRUE(at(QStringLiteral("train:\n  le|\n")).has("learning_rate"));
    EXPECT_TRUE(at(QStringLiteral("train: {le|}\n")).has("learning_rate"));
    EXPECT_TRUE(at(QStringLiteral("train: {optimizer: sgd, le|}\n")).has("learning_rate"));
    EXPECT_TRUE(at(QStringLiteral("train: {optimizer: sgd, le|\nname: x\n")).has("learning_rate"));
    EXPECT_TRUE(at(QStringLiteral("train:\n  checkpoint:\n    ev|\n")).has("every_steps"));
}

TEST(SpecCompletion, OffersTheWordsOfAChoice) {
    const Answer answer = at(QStringLiteral("train:\n  optimizer: |\n"));
    EXPECT_EQ(answer.labels, (QStringList{QStringLiteral("sgd"), QStringLiteral("adagrad"),
                                          QStringLiteral("adamw")}));
    EXPECT_TRUE(at(QStringLiteral("batch: {shuffle: re|}\n")).has("requests"));
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - {name: a, enabled: |, filter: x}\n")).has("false"));
    EXPECT_TRUE(at(QStringLiteral("eval:\n  metrics: [auc, cal|]\n")).has("calibration"));
}

TEST(SpecCompletion, OffersStepsAndTheirKeys) {
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - sa|\n")).has("sample"));
    const Answer second = at(QStringLiteral("recipe:\n  - filter: x\n    |\n"));
    EXPECT_TRUE(second.has("name"));
    EXPECT_FALSE(second.has("join"));  // a step has one kind
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - sample: {ke|}\n")).has("keep"));
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - join:\n      on_|\n")).has("on_duplicate"));
    EXPECT_EQ(at(QStringLiteral("recipe:\n  fil|\n")).after,
              QStringLiteral("recipe:\n  - filter: \n"));
}

TEST(SpecCompletion, OffersColumnsAndFunctionsInExpressions) {
    const Answer answer = at(QStringLiteral("dataset:\n  path: a.csv\n  where: ra|\n"));
    EXPECT_EQ(answer.labels.value(0), QStringLiteral("rating"));
    EXPECT_FALSE(at(QStringLiteral("dataset:\n  where: ag|\n")).has("age_years"));
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - filter: ag|\n")).has("age_years"));
    const Answer call = at(QStringLiteral("recipe:\n  - derive: {x: \"coal|\"}\n"));
    EXPECT_EQ(call.labels.value(0), QStringLiteral("coalesce"));
    EXPECT_EQ(call.after, QStringLiteral("recipe:\n  - derive: {x: \"coalesce()\"}\n"));
    EXPECT_EQ(call.list.items[0].cursorBack, 1);
    EXPECT_TRUE(at(QStringLiteral("labels: {liked: \"rat|\"}\n")).has("rating"));
}

TEST(SpecCompletion, StaysQuietInsideTextsNumbersAndComments) {
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - filter: x = 'ra|'\n")).labels.isEmpty());
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - filter: x > 1|\n")).labels.isEmpty());
    EXPECT_TRUE(at(QStringLiteral("name: x # tra|\n")).labels.isEmpty());
}

TEST(SpecCompletion, OffersColumnsWhereAKeyNamesThem) {
    EXPECT_TRUE(at(QStringLiteral("features:\n  ids: [user|]\n")).has("userId"));
    EXPECT_TRUE(at(QStringLiteral("features:\n  dense:\n    - age|\n")).has("age_years"));
    EXPECT_TRUE(at(QStringLiteral("recipe:\n  - hash: {column: mov|}\n")).has("movieId"));
    EXPECT_TRUE(
        at(QStringLiteral("features: {ids: [userId]}\nembeddings:\n  us|\n")).has("userId"));
}

TEST(SpecCompletion, OffersTheStepsOfTheRecipeInVariations) {
    QString text = movielens();
    text += QStringLiteral("  - {name: new, set: {rec|}}\n");
    const Answer answer = at(text);
    EXPECT_TRUE(answer.has("recipe.negatives.keep"));
    EXPECT_TRUE(answer.has("recipe.since.enabled"));
    QString value = movielens();
    value += QStringLiteral("  - {name: new, set: {recipe.since.enabled: |}}\n");
    EXPECT_TRUE(at(value).has("true"));
    QString expression = movielens();
    expression += QStringLiteral("  - {name: new, set: {labels.liked: \"ra|\"}}\n");
    EXPECT_TRUE(at(expression).has("rating"));
    EXPECT_EQ(at(movielens() + QStringLiteral("  - {na|}\n")).labels.value(0),
              QStringLiteral("name"));
}

TEST(SpecCompletion, ChangesAKeyThatStandsWithoutASecondColon) {
    const Answer answer = at(QStringLiteral("train:\n  opti|: sgd\n"));
    EXPECT_EQ(answer.after, QStringLiteral("train:\n  optimizer: sgd\n"));
}

TEST(SpecCompletion, AnswersAtEveryPlaceOfTheExample) {
    const QString text = movielens();
    for (int place = 0; place <= text.size(); place += 3) {
        const CompletionList list = completionsAt(text, place, sampleColumns());
        ASSERT_LE(list.begin, place);
        ASSERT_GE(list.end, list.begin);
        callHintAt(text, place);
    }
}

TEST(CallHint, NamesTheArgumentThatIsTyped) {
    const QString text = QStringLiteral("recipe:\n  - filter: substr(lower(title), 2, \n");
    const auto hint = callHintAt(text, static_cast<int>(text.size()) - 1);
    ASSERT_TRUE(hint.has_value());
    EXPECT_TRUE(hint->signature.startsWith(QStringLiteral("substr(")));
    EXPECT_EQ(text.mid(hint->callPlace, 6), QStringLiteral("substr"));
    const QString argument =
        hint->signature.mid(hint->argumentBegin, hint->argumentEnd - hint->argumentBegin);
    EXPECT_FALSE(argument.isEmpty());
    EXPECT_EQ(hint->signature.left(hint->argumentBegin).count(u','), 2);
    EXPECT_FALSE(callHintAt(QStringLiteral("name: substr(\n"), 12).has_value());
}

TEST(KeyHelp, DescribesTheKeyAtTheCursor) {
    const SpecSyntax syntax(movielens());
    const auto meanings = meaningsOf(syntax);
    const int place = static_cast<int>(syntax.text().indexOf(QStringLiteral("learning_rate"))) + 3;
    const KeyHelp help = keyHelpAt(syntax, meanings, place);
    EXPECT_EQ(help.path, QStringLiteral("train.learning_rate"));
    EXPECT_EQ(help.kind, QStringLiteral("number, above 0 to 1000000"));
    EXPECT_EQ(help.fallback, QStringLiteral("0.001"));
    EXPECT_EQ(help.doc, QStringLiteral("the step size"));
}

}  // namespace
}  // namespace millrace::gui
