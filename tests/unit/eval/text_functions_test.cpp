// Text functions compared with a plain implementation and with Arrow's kernels.
#include <functional>
#include <optional>
#include <random>

#include <arrow/array/builder_binary.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/scalar.h>

#include "backend/eval/kernels.h"
#include "backend/eval/text_writer.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

using test::MemoryColumns;
using Text = std::optional<std::string>;

constexpr std::string_view kWide[] = {"a", "B", "/",        "/",           " ",
                                      " ", "z", "\xc3\xa9", "\xe6\x97\xa5"};
constexpr std::size_t kAsciiLetters = 7;

ArrayPtr someTexts(std::uint64_t seed, std::size_t letters) {
    std::mt19937_64 bits(seed);
    arrow::StringBuilder builder;
    for (int i = 0; i < 700; ++i) {
        std::string text;
        for (std::size_t n = bits() % (bits() % 5 == 0 ? 90 : 12); n > 0; --n) {
            text += kWide[bits() % letters];
        }
        EXPECT_TRUE((bits() % 6 == 0 ? builder.AppendNull() : builder.Append(text)).ok());
    }
    return *builder.Finish();
}

Text textAt(const arrow::Array& array, std::int64_t i) {
    const auto& strings = static_cast<const arrow::StringArray&>(array);
    return strings.IsNull(i) ? Text() : Text(strings.GetString(i));
}

std::vector<std::string> charactersOf(const std::string& text) {
    std::vector<std::string> characters;
    for (const char c : text) {
        if (characters.empty() || (c & 0xc0) != 0x80) {
            characters.emplace_back();
        }
        characters.back() += c;
    }
    return characters;
}

/// Characters `begin` to `end`, counted from 0.
std::string charactersBetween(const std::string& text, std::int64_t begin, std::int64_t end) {
    const std::vector<std::string> characters = charactersOf(text);
    std::string out;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(characters.size()); ++i) {
        out += i >= begin && i < end ? characters[static_cast<std::size_t>(i)] : "";
    }
    return out;
}

std::string part(const std::string& text, const std::string& separator, std::int64_t index) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text.size() && !separator.empty();) {
        const std::size_t at = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, at - from));
        from = at + (at == text.size() ? 1 : separator.size());
    }
    if (separator.empty()) {
        parts = charactersOf(text);
    }
    const auto count = static_cast<std::int64_t>(parts.size());
    const std::int64_t at = index > 0 ? index - 1 : count + index;
    return index != 0 && at >= 0 && at < count ? parts[static_cast<std::size_t>(at)] : "";
}

std::int64_t lengthOf(const std::string& text) {
    return static_cast<std::int64_t>(charactersOf(text).size());
}

ArrayPtr valuesOf(const std::string& text, MemoryColumns& data) {
    const auto expr = expr::compileExpression(text, data.schema());
    EXPECT_TRUE(expr.ok()) << text << ": " << expr.status();
    const auto values = expr.ok() ? evaluate(*expr, data) : Result<ArrayPtr>(expr.status());
    EXPECT_TRUE(values.ok()) << text << ": " << values.status();
    return values.ok() ? *values : nullptr;
}

using Meaning = std::function<Text(const Text&, const Text&)>;

/// A function of a text that is not null.
Meaning ofText(const std::function<std::string(const std::string&)>& make) {
    return [=](const Text& s, const Text&) { return s ? Text(make(*s)) : Text(); };
}

std::vector<std::pair<std::string, Meaning>> meanings() {
    std::vector<std::pair<std::string, Meaning>> all;
    for (const auto& [start, count] : {std::pair{1, 4},
                                       {3, 2},
                                       {14, 8},
                                       {0, 3},
                                       {-3, 2},
                                       {-40, 38},
                                       {2, 0},
                                       {200, 1},
                                       {2, -1}}) {
        all.emplace_back(strCat("substr(s, ", start, ", ", count, ")"),
                         ofText([=](const std::string& text) {
                             const std::int64_t from = start > 0   ? start - 1
                                                       : start < 0 ? lengthOf(text) + start
                                                                   : -1;
                             return charactersBetween(text, std::max<std::int64_t>(from, 0),
                                                      from + std::max(count, 0));
                         }));
    }
    for (const int n : {0, 1, 3, 50, -1, -4, -60}) {
        all.emplace_back(strCat("left(s, ", n, ")"), ofText([=](const std::string& text) {
                             return charactersBetween(text, 0, n < 0 ? lengthOf(text) + n : n);
                         }));
        all.emplace_back(strCat("right(s, ", n, ")"), ofText([=](const std::string& text) {
                             const std::int64_t length = lengthOf(text);
                             return charactersBetween(text, n < 0 ? -n : length - n, length);
                         }));
    }
    for (const char* separator : {"/", "//", "a", " a", "\xc3\xa9", ""}) {
        for (const int index : {1, 2, 3, 9, -1, -2, -30, 0}) {
            all.emplace_back(
                strCat("split_part(s, '", separator, "', ", index, ")"),
                ofText([=](const std::string& text) { return part(text, separator, index); }));
        }
    }
    all.emplace_back("s || '-' || t", [](const Text& s, const Text& t) {
        return s && t ? Text(*s + "-" + *t) : Text();
    });
    all.emplace_back("t || s || s", [](const Text& s, const Text& t) {
        return s && t ? Text(*t + *s + *s) : Text();
    });
    all.emplace_back("s || null", [](const Text&, const Text&) { return Text(); });
    all.emplace_back("concat(s, '/', t, null, 'a long text of the spec')",
                     [](const Text& s, const Text& t) {
                         return s.value_or("") + "/" + t.value_or("") + "a long text of the spec";
                     });
    return all;
}

MemoryColumns twoColumns(std::size_t letters, std::int64_t from, std::int64_t rows) {
    return MemoryColumns({{"s", someTexts(1, letters)->Slice(from, rows)},
                          {"t", someTexts(2, letters)->Slice(from, rows)}});
}

constexpr std::pair<std::int64_t, std::int64_t> kSlices[] = {{0, 700}, {13, 500}, {5, 0}};

TEST(TextFunctions, MeanWhatTheyDid) {
    for (const std::size_t letters : {kAsciiLetters, std::size(kWide)}) {
        for (const auto& [from, rows] : kSlices) {
            MemoryColumns data = twoColumns(letters, from, rows);
            const ArrayPtr s = *data.column("s"), t = *data.column("t");
            for (const auto& [text, meaning] : meanings()) {
                const ArrayPtr values = valuesOf(text, data);
                ASSERT_TRUE(values != nullptr && values->length() == rows) << text;
                ASSERT_TRUE(values->ValidateFull().ok()) << text;
                for (std::int64_t i = 0; i < rows; ++i) {
                    ASSERT_EQ(textAt(*values, i), meaning(textAt(*s, i), textAt(*t, i)))
                        << text << " of '" << textAt(*s, i).value_or("null") << "'";
                }
            }
        }
    }
}

TEST(TextFunctions, MeanWhatArrowMeans) {
    const arrow::compute::TrimOptions blanks(" ");
    const arrow::compute::ReplaceSubstringOptions slash("/", "-+-"), pair("//", ""),
        letter("a", "\xc3\xa9");
    const std::tuple<const char*, const char*, const arrow::compute::FunctionOptions*> kCases[] = {
        {"upper(s)", "utf8_upper", nullptr},
        {"lower(s)", "utf8_lower", nullptr},
        {"trim(s)", "utf8_trim", &blanks},
        {"ltrim(s)", "utf8_ltrim", &blanks},
        {"rtrim(s)", "utf8_rtrim", &blanks},
        {"replace(s, '/', '-+-')", "replace_substring", &slash},
        {"replace(s, '//', '')", "replace_substring", &pair},
        {"replace(s, 'a', '\xc3\xa9')", "replace_substring", &letter}};
    for (const std::size_t letters : {kAsciiLetters, std::size(kWide)}) {
        for (const auto& [from, rows] : kSlices) {
            MemoryColumns data = twoColumns(letters, from, rows);
            for (const auto& [text, kernel, options] : kCases) {
                const auto wanted = callKernel(kernel, {Datum(*data.column("s"))}, options);
                ASSERT_TRUE(wanted.ok()) << text << ": " << wanted.status();
                const ArrayPtr values = valuesOf(text, data);
                ASSERT_TRUE(values != nullptr && values->ValidateFull().ok()) << text;
                EXPECT_TRUE(values->Equals(*wanted->make_array())) << text;
            }
        }
    }
}

TEST(TextWriter, GrowsFromNoRoomAndKeepsNoMoreThanItNeeds) {
    const std::string text = "a text of more than sixteen bytes";
    TextWriter out(1000, 0);
    for (std::size_t i = 0; i < 1000; ++i) {
        out.append({std::string_view(text).substr(i % 20, i % 13), text.data() + text.size()});
        out.append({text, text.data() + text.size()});
        out.endRow();
    }
    const Result<Datum> made = out.finish(nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    const ArrayPtr array = made->make_array();
    ASSERT_TRUE(array->ValidateFull().ok());
    for (std::size_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(*textAt(*array, static_cast<std::int64_t>(i)),
                  text.substr(i % 20, i % 13) + text);
    }
    const auto& strings = static_cast<const arrow::StringArray&>(*array);
    EXPECT_LE(strings.value_data()->capacity(), strings.total_values_length() * 9 / 8 + 128);
}

}  // namespace
}  // namespace millrace::eval
