// Substrings are found where Arrow's kernels find them, with any vector instructions.
#include "backend/eval/text_search.h"

#include <random>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/compute/api_scalar.h>

#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

std::string someText(std::mt19937_64& bits, std::size_t longest) {
    constexpr std::string_view kLetters[] = {"a", "a", "a", "b", "\xc3\xa9", "\n", "."};
    std::string text;
    for (std::size_t n = bits() % (longest + 1); text.size() < n;) {
        text += kLetters[bits() % std::size(kLetters)];
    }
    return text;
}

ArrayPtr someTexts(std::uint64_t seed, std::int64_t rows, double nulls, std::size_t longest) {
    std::mt19937_64 bits(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    arrow::StringBuilder builder;
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::string text = someText(bits, bits() % 9 == 0 ? 8 * longest : longest);
        EXPECT_TRUE((unit(bits) < nulls ? builder.AppendNull() : builder.Append(text)).ok());
    }
    return *builder.Finish();
}

/// The result of Arrow's kernel, for substrings anywhere in a text and for patterns.
ArrayPtr arrowsAnswer(const char* kernel, const ArrayPtr& texts, const std::string& pattern) {
    const arrow::compute::MatchSubstringOptions options(pattern);
    const auto answer = callKernel(kernel, {Datum(texts)}, &options);
    EXPECT_TRUE(answer.ok()) << pattern << ": " << answer.status();
    return answer.ok() ? answer->make_array() : nullptr;
}

void expectSame(const Result<Datum>& made, const ArrayPtr& wanted, const std::string& what) {
    ASSERT_TRUE(made.ok()) << what << ": " << made.status();
    const ArrayPtr array = made->make_array();
    EXPECT_TRUE(array->ValidateFull().ok()) << what;
    EXPECT_TRUE(array->Equals(wanted)) << what;
}

TEST(TextSearch, FindsTheFirstPlaceWithAnyVectors) {
    std::mt19937_64 bits(1);
    for (int turn = 0; turn < 3000; ++turn) {
        const std::string text = someText(bits, bits() % 200);
        const std::string part = someText(bits, bits() % 8);
        const std::string what = strCat("'", part, "' in '", text, "'");
        EXPECT_EQ(findText(Isa::kPlain, text, part), text.find(part)) << what;
        EXPECT_EQ(findText(machineIsa(), text, part), text.find(part)) << what;
    }
    const std::string text = std::string(31, 'x') + "ab" + std::string(70, 'x') + "abc";
    EXPECT_EQ(findText(machineIsa(), text, "ab"), 31);
    EXPECT_EQ(findText(machineIsa(), text, "abc"), 103);
    EXPECT_EQ(findText(machineIsa(), text, "abcd"), std::string::npos);
    EXPECT_EQ(findText(machineIsa(), "ab", "abc"), std::string::npos);
}

TEST(TextSearch, AgreesWithArrowWhereverThePartStands) {
    constexpr std::pair<PartPlace, const char*> kPlaces[] = {
        {PartPlace::kAnywhere, "match_substring"},
        {PartPlace::kBegin, "starts_with"},
        {PartPlace::kEnd, "ends_with"}};
    std::mt19937_64 bits(2);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ArrayPtr whole = someTexts(seed, 300, seed % 3 == 0 ? 0 : 0.2, 1 + seed % 12);
        const ArrayPtr part = whole->Slice(static_cast<std::int64_t>(seed % 20),
                                           static_cast<std::int64_t>(seed * 4 % 270));
        const std::string wanted = someText(bits, seed % 5);
        for (const ArrayPtr& texts : {whole, part}) {
            for (const auto& [place, kernel] : kPlaces) {
                for (const Isa isa : {Isa::kPlain, machineIsa()}) {
                    expectSame(matchTexts(isa, *texts, place, wanted),
                               arrowsAnswer(kernel, texts, wanted), strCat(kernel, " ", wanted));
                }
            }
        }
    }
}

TEST(TextSearch, APartThatSpansTwoRowsIsInNeither) {
    const ArrayPtr texts = test::texts({"xa", "bx", "", "a", "b", "ab", "aab", "a"});
    const Result<Datum> found = matchTexts(machineIsa(), *texts, PartPlace::kAnywhere, "ab");
    ASSERT_TRUE(found.ok());
    const ArrayPtr bools = found->make_array();
    for (std::int64_t i = 0; i < texts->length(); ++i) {
        EXPECT_EQ(static_cast<const arrow::BooleanArray&>(*bools).Value(i), i == 5 || i == 6) << i;
    }
}

TEST(TextSearch, LikeMeansWhatArrowMeans) {
    const ArrayPtr texts = someTexts(3, 2000, 0.1, 6);
    for (const char* pattern :
         {"",         "%",          "%%",         "a",    "aa",   "a.",     "a\n",
          "\xc3\xa9", "a%",         "a%%",        "%a",   "%%a",  "%a%",    "%%ab%%",
          "%aab%",    "%\xc3\xa9%", "a\xc3\xa9%", "%.%",  "%\n%", "a%b",    "_",
          "_a%",      "%a_",        "%\\%%",      "\\a%", "%a\\", "%a\\b%", ".%"}) {
        expectSame(likeTexts(Datum(texts), pattern), arrowsAnswer("match_like", texts, pattern),
                   pattern);
    }
    const ArrayPtr none = texts->Slice(7, 0);
    expectSame(likeTexts(Datum(none), "%a%"), arrowsAnswer("match_like", none, "%a%"), "no rows");
}

}  // namespace
}  // namespace millrace::eval
