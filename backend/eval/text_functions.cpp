// Functions from texts to texts: they write their results directly into one array.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array/array_nested.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/eval/function_calls.h"
#include "backend/eval/text_writer.h"
#include "backend/text/utf8.h"

namespace millrace::eval {
namespace {

using F = expr::FunctionId;
using expr::ExprNode;

bool isAscii(std::string_view text) {
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (; i + sizeof bits <= text.size(); i += sizeof bits) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + i, sizeof word);
        bits |= word;
    }
    for (; i < text.size(); ++i) {
        bits |= static_cast<unsigned char>(text[i]);
    }
    return (bits & 0x8080808080808080) == 0;
}

/// Bytes of the first `count` characters, or of all if there are fewer.
std::size_t bytesOfCharacters(std::string_view text, std::int64_t count) {
    const auto wanted = static_cast<std::size_t>(count);
    // Checks one byte more: it could belong to the last character.
    if (isAscii(text.substr(0, wanted < text.size() ? wanted + 1 : text.size()))) {
        return std::min(wanted, text.size());
    }
    std::size_t bytes = 0;
    for (; count > 0 && bytes < text.size(); --count) {
        bytes += characterBytes(text.substr(bytes));
    }
    return bytes;
}

std::int64_t countCharacters(std::string_view text) {
    if (isAscii(text)) {
        return static_cast<std::int64_t>(text.size());
    }
    std::int64_t count = 0;
    for (; !text.empty(); ++count) {
        text.remove_prefix(characterBytes(text));
    }
    return count;
}

/// Makes one part of each text: make(text).
template <class Make>
Result<Datum> mapParts(const Datum& argument, std::int64_t rows, Make make) {
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(argument, rows));
    const TextColumn in(*array);
    constexpr std::int64_t kLikelyBytes = 16;
    TextWriter out(rows, std::min(kLikelyBytes * rows, static_cast<std::int64_t>(in.all().size())));
    for (std::int64_t i = 0; i < rows; ++i) {
        if (!in.isNull(i)) {
            out.append({make(in.text(i)), in.memoryEnd()});
        }
        out.endRow();
    }
    ASSIGN_OR_RETURN(auto validity, in.validity());
    return out.finish(std::move(validity));
}

/// `count` characters from `start` (from 1; negative: from the end).
Result<Datum> substring(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const std::int64_t start = intArgument(node, 1, 1);
    const std::int64_t count =
        std::max<std::int64_t>(intArgument(node, 2, std::int64_t{1} << 40), 0);
    return mapParts(argument, rows, [=](std::string_view text) {
        const std::int64_t from = start > 0   ? start - 1
                                  : start < 0 ? countCharacters(text) + start
                                              : -1;
        const std::int64_t begin = std::max<std::int64_t>(from, 0);
        const std::int64_t end = std::max(from + count, begin);
        text.remove_prefix(bytesOfCharacters(text, begin));
        return text.substr(0, bytesOfCharacters(text, end - begin));
    });
}

/// left and right: the first or last n characters; a negative n leaves out that many.
Result<Datum> textEnd(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const std::int64_t n = intArgument(node, 1, 0);
    const bool isLeft = node.function->id == F::kLeft;
    return mapParts(argument, rows, [=](std::string_view text) {
        if (isLeft && n >= 0) {
            return text.substr(0, bytesOfCharacters(text, n));
        }
        const std::int64_t length = countCharacters(text);
        const std::int64_t taken = std::clamp<std::int64_t>(n < 0 ? length + n : n, 0, length);
        const std::size_t border = bytesOfCharacters(text, isLeft ? taken : length - taken);
        return isLeft ? text.substr(0, border) : text.substr(border);
    });
}

/// Takes the part before the next separator off the text; an empty separator splits characters.
/// Returns nothing if no part is left; `text` has a null pointer after the last.
std::optional<std::string_view> nextPart(std::string_view& text, std::string_view separator) {
    std::string_view part;
    if (separator.empty()) {
        part = text.substr(0, characterBytes(text));
        text.remove_prefix(part.size());
        return part.empty() ? std::nullopt : std::optional(part);
    }
    if (text.data() == nullptr) {
        return std::nullopt;
    }
    const std::size_t at =
        separator.size() == 1 ? text.find(separator.front()) : text.find(separator);
    part = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
    return part;
}

/// The part at `index`, counted from 0.
std::string_view partAt(std::string_view text, std::string_view separator, std::int64_t index) {
    std::optional<std::string_view> part = nextPart(text, separator);
    for (; index > 0 && part; --index) {
        part = nextPart(text, separator);
    }
    return part.value_or(std::string_view());
}

Result<Datum> splitPart(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const std::string separator = textArgument(node, 1);
    const std::int64_t index = intArgument(node, 2, 1);
    return mapParts(argument, rows, [&](std::string_view text) {
        if (index > 0) {
            return partAt(text, separator, index - 1);
        }
        std::int64_t count = 0;
        for (std::string_view rest = text; nextPart(rest, separator);) {
            ++count;
        }
        const bool isInside = index != 0 && count + index >= 0;
        return isInside ? partAt(text, separator, count + index) : std::string_view();
    });
}

Result<Datum> replaceText(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const std::string from = textArgument(node, 1), to = textArgument(node, 2);
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(argument, rows));
    const TextColumn in(*array);
    const TextPiece put{to, to.data() + to.size()};
    TextWriter out(rows, static_cast<std::int64_t>(in.all().size()));
    for (std::int64_t i = 0; i < rows; ++i) {
        std::string_view text = in.isNull(i) ? std::string_view() : in.text(i);
        for (std::size_t at = 0; !from.empty() && !text.empty();) {
            at = text.find(from);
            if (at == std::string_view::npos) {
                break;
            }
            out.append({text.substr(0, at), in.memoryEnd()});
            out.append(put);
            text.remove_prefix(at + from.size());
        }
        out.append({text, in.memoryEnd()});
        out.endRow();
    }
    ASSIGN_OR_RETURN(auto validity, in.validity());
    return out.finish(std::move(validity));
}

/// Names group `group` of the pattern g and makes the other groups non-capturing; group 0 is the
/// whole pattern. Arrow's kernel returns named groups only.
Result<std::string> namedGroup(const std::string& pattern, std::int64_t group) {
    std::string out = group == 0 ? "(?P<g>" : "";
    std::int64_t seen = 0;
    bool isInSet = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        out += c;
        if (c == '\\' && i + 1 < pattern.size()) {
            out += pattern[++i];
        } else if (isInSet) {
            isInSet = c != ']';
        } else if (c == '[') {
            isInSet = true;
            for (const char first : {'^', ']'}) {  // "[^]x]": these two are literal here
                if (i + 1 < pattern.size() && pattern[i + 1] == first) {
                    out += pattern[++i];
                }
            }
        } else if (c == '(') {
            const bool isPlain = i + 1 >= pattern.size() || pattern[i + 1] != '?';
            const bool isNamed = pattern.compare(i + 1, 3, "?P<") == 0;
            if (isPlain || isNamed) {
                out += ++seen == group ? "?P<g>" : "?:";
            }
            if (isNamed) {
                i = std::min(pattern.find('>', i), pattern.size() - 1);
            }
        }
    }
    if (group < 0 || group > seen) {
        return invalidArgument("regexp_extract: the pattern has ", seen, " groups, not ", group);
    }
    return group == 0 ? out + ")" : out;
}

Result<Datum> regexpExtract(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    ASSIGN_OR_RETURN(const std::string pattern,
                     namedGroup(textArgument(node, 1), intArgument(node, 2, 0)));
    const arrow::compute::ExtractRegexOptions options(pattern);
    ASSIGN_OR_RETURN(const ArrayPtr texts, asArray(argument, rows));
    ASSIGN_OR_RETURN(const Datum found, callKernel("extract_regex", {Datum(texts)}, &options));
    const ArrayPtr groups = found.make_array();
    const auto& matched = static_cast<const arrow::StructArray&>(*groups);
    const ArrayPtr group = matched.field(0);
    const TextColumn in(*texts), parts(*group);
    TextWriter out(rows, static_cast<std::int64_t>(parts.all().size()));
    for (std::int64_t i = 0; i < rows; ++i) {
        if (!in.isNull(i) && matched.IsValid(i) && !parts.isNull(i)) {
            out.append(parts.piece(i));
        }
        out.endRow();
    }
    ASSIGN_OR_RETURN(auto validity, in.validity());
    return out.finish(std::move(validity));
}

template <bool kIsUpper>
void changeAscii(std::string_view from, char* to) {
    constexpr char kFirst = kIsUpper ? 'a' : 'A', kLast = kIsUpper ? 'z' : 'Z';
    for (std::size_t i = 0; i < from.size(); ++i) {
        const char c = from[i];
        to[i] = static_cast<char>(c ^ (c >= kFirst && c <= kLast ? 0x20 : 0));
    }
}

/// Changes all letters of valid UTF-8 texts, but only the ASCII letters of other texts.
template <bool kIsUpper>
Result<Datum> changeCaseOfAny(const ArrayPtr& array, std::int64_t rows) {
    const TextColumn in(*array);
    std::vector<std::string> changed;  // of the rows without valid UTF-8, in order
    TextWriter whole(rows, static_cast<std::int64_t>(in.all().size()));
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::string_view text = in.isNull(i) ? std::string_view() : in.text(i);
        if (isUtf8(text)) {
            whole.append({text, in.memoryEnd()});
        } else {
            changeAscii<kIsUpper>(text, changed.emplace_back(text).data());
        }
        whole.endRow();
    }
    constexpr const char* kKernel = kIsUpper ? "utf8_upper" : "utf8_lower";
    if (changed.empty()) {
        return callKernel(kKernel, {Datum(array)});
    }
    ASSIGN_OR_RETURN(auto validity, in.validity());
    ASSIGN_OR_RETURN(const Datum texts, whole.finish(validity));
    ASSIGN_OR_RETURN(const Datum done, callKernel(kKernel, {texts}));
    const ArrayPtr held = done.make_array();
    const TextColumn letters(*held);
    TextWriter out(rows, static_cast<std::int64_t>(in.all().size()));
    std::size_t next = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        if (!in.isNull(i) && !isUtf8(in.text(i))) {
            const std::string& text = changed[next++];
            out.append({text, text.data() + text.size()});
        } else if (!in.isNull(i)) {
            out.append(letters.piece(i));
        }
        out.endRow();
    }
    return out.finish(std::move(validity));
}

/// Uses the fast loop for ASCII texts.
template <bool kIsUpper>
Result<Datum> changeCase(const ExprNode&, const Datum& argument, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(argument, rows));
    const TextColumn in(*array);
    const std::string_view from = in.all();
    if (!isAscii(from)) {
        return changeCaseOfAny<kIsUpper>(array, rows);
    }
    TextWriter out(rows, static_cast<std::int64_t>(from.size()));
    if (char* const to = out.rawBytes(from.size()); to != nullptr) {
        changeAscii<kIsUpper>(from, to);
        for (std::int64_t i = 0; i < rows; ++i) {
            out.endRowAt(in.end(i));
        }
    }
    ASSIGN_OR_RETURN(auto validity, in.validity());
    return out.finish(std::move(validity));
}

/// Trims blanks at the ends.
template <bool kAtBegin, bool kAtEnd>
Result<Datum> trimText(const ExprNode&, const Datum& argument, std::int64_t rows) {
    return mapParts(argument, rows, [](std::string_view text) {
        if constexpr (kAtBegin) {
            text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        }
        if constexpr (kAtEnd) {
            text = text.substr(0, text.find_last_not_of(' ') + 1);
        }
        return text;
    });
}

/// concat() skips nulls, as in DuckDB.
Result<Datum> concatTexts(const ExprNode&, const std::vector<Datum>& texts, std::int64_t rows) {
    return joinTexts(texts, rows, /*skipsNulls=*/true);
}

template <Result<Datum> (*kCall)(const ExprNode&, const Datum&, std::int64_t)>
Result<Datum> ofText(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    return kCall(node, c[0], rows);
}

constexpr FunctionKernel kTextKernels[] = {
    {F::kLower, ofText<changeCase<false>>},
    {F::kUpper, ofText<changeCase<true>>},
    {F::kTrim, ofText<trimText<true, true>>},
    {F::kLtrim, ofText<trimText<true, false>>},
    {F::kRtrim, ofText<trimText<false, true>>},
    {F::kSubstr, ofText<substring>},
    {F::kConcat, concatTexts},
    {F::kReplace, ofText<replaceText>},
    {F::kRegexpExtract, ofText<regexpExtract>},
    {F::kLeft, ofText<textEnd>},
    {F::kRight, ofText<textEnd>},
    {F::kSplitPart, ofText<splitPart>},
};

/// An operand of a concatenation: a column, or one text for all rows.
struct Operand {
    TextColumn texts;
    std::int64_t step;

    bool isNull(std::int64_t row) const { return texts.isNull(row * step); }
    TextPiece piece(std::int64_t row) const { return texts.piece(row * step); }
    std::int64_t bytes(std::int64_t rows) const {
        return static_cast<std::int64_t>(texts.all().size()) * (step == 0 ? rows : 1);
    }
};

Result<std::shared_ptr<arrow::Buffer>> allValid(const std::vector<Operand>& operands,
                                                std::int64_t rows) {
    std::shared_ptr<arrow::Buffer> all;
    for (const Operand& operand : operands) {
        if (!operand.texts.hasNulls()) {
            continue;
        }
        ASSIGN_OR_RETURN(auto own, operand.texts.validity());
        if (all == nullptr) {
            all = std::move(own);
            continue;
        }
        arrow::internal::BitmapAnd(all->data(), 0, own->data(), 0, rows, 0, all->mutable_data());
    }
    return all;
}

}  // namespace

Result<Datum> joinTexts(const std::vector<Datum>& texts, std::int64_t rows, bool skipsNulls) {
    std::vector<ArrayPtr> held;
    std::vector<Operand> operands;
    std::int64_t bytes = 0;
    for (const Datum& text : texts) {
        const bool isNull = text.is_scalar() && !text.scalar()->is_valid;
        if (isNull && !skipsNulls) {
            const Datum none(arrow::MakeNullScalar(arrow::utf8()));
            ASSIGN_OR_RETURN(ArrayPtr nulls, asArray(none, rows));
            return Datum(std::move(nulls));
        }
        if (isNull) {
            continue;
        }
        ASSIGN_OR_RETURN(ArrayPtr array, asArray(text, text.is_scalar() ? 1 : rows));
        operands.push_back({TextColumn(*array), text.is_scalar() ? 0 : 1});
        held.push_back(std::move(array));
        bytes += operands.back().bytes(rows);
    }
    std::shared_ptr<arrow::Buffer> valid;
    if (!skipsNulls) {
        ASSIGN_OR_RETURN(valid, allValid(operands, rows));
    }
    TextWriter out(rows, bytes);
    for (std::int64_t i = 0; i < rows; ++i) {
        const bool isNull = valid != nullptr && !arrow::bit_util::GetBit(valid->data(), i);
        for (const Operand& operand : operands) {
            if (!isNull && !operand.isNull(i)) {
                out.append(operand.piece(i));
            }
        }
        out.endRow();
    }
    return out.finish(std::move(valid));
}

std::span<const FunctionKernel> textKernels() {
    return kTextKernels;
}

}  // namespace millrace::eval
