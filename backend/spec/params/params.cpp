#include "backend/spec/params/params.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "backend/spec/yaml/tree_reader.h"
#include "backend/text/numbers.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

using std::chrono::sys_days;

// Scripts get them in an environment variable, which Linux limits to 128 KiB.
constexpr std::size_t kBytesMost = std::size_t{64} << 10;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool isName(std::string_view name) {
    const auto isPart = [](char c) { return isLetter(c) || isDigit(c) || c == '_'; };
    return !name.empty() && isLetter(name.front()) && std::ranges::all_of(name, isPart);
}

/// Returns the date if it is in the years 1 to 9999.
std::optional<sys_days> inRange(sys_days day) {
    constexpr sys_days kFirst = std::chrono::year(1) / 1 / 1,
                       kLast = std::chrono::year(9999) / 12 / 31;
    return day >= kFirst && day <= kLast ? std::optional(day) : std::nullopt;
}

/// Whether the text has the form of a date, as "2024-13-01" has.
bool isLikeDate(std::string_view text) {
    std::string form(text);
    std::ranges::replace_if(form, isDigit, '0');
    return form == "0000-00-00";
}

/// Warns of unquoted words that PyYAML, which follows YAML 1.1, reads as bools.
void warnOfWords(const YamlNode& value, const std::string& name,
                 std::vector<std::string>& warnings) {
    constexpr std::string_view kWords[] = {"yes", "Yes", "YES", "on",  "On",  "ON",
                                           "no",  "No",  "NO",  "off", "Off", "OFF"};
    for (const YamlNode& item : value.items) {
        warnOfWords(item, name, warnings);
    }
    const auto* const word = std::ranges::find(kWords, value.text);
    if (!value.isScalar() || value.isQuoted || word == std::end(kWords)) {
        return;
    }
    const bool isYes = word - std::begin(kWords) < 6;
    warnings.push_back(strCat("params.", name, ": ", *word, " is a text here; write ",
                              isYes ? "true" : "false", ", or \"", *word, "\" in quotes"));
}

/// Parses "2024-02-29" and no other form.
std::optional<sys_days> dateIn(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') {
        return std::nullopt;
    }
    const auto year = parseNumber<unsigned>(text.substr(0, 4));
    const auto month = parseNumber<unsigned>(text.substr(5, 2));
    const auto day = parseNumber<unsigned>(text.substr(8, 2));
    if (!year || !month || !day) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(*month), std::chrono::day(*day)};
    return date.ok() ? inRange(date) : std::nullopt;
}

std::string dateText(sys_days day) {
    const std::chrono::year_month_day date{day};
    const auto digits = [](unsigned number, std::size_t width) {
        const std::string text = std::to_string(number);
        return std::string(width - std::min(width, text.size()), '0') + text;
    };
    return strCat(digits(static_cast<unsigned>(static_cast<int>(date.year())), 4), "-",
                  digits(static_cast<unsigned>(date.month()), 2), "-",
                  digits(static_cast<unsigned>(date.day()), 2));
}

std::string_view typeOf(const Json& value) {
    return value.is_string()    ? "a text"
           : value.is_boolean() ? "a bool"
           : value.is_array()   ? "a list"
                                : "a number with a fraction";
}

/// Whether a filter could not distinguish a run's own parameter of this name from a key of the
/// spec.
bool isNameOfKey(const std::string& name, bool isMap) {
    static const Json kSpec = RunSpec().toJson();
    const Json& key = jsonMember(kSpec, name);
    const bool isSection = key.is_object() || name == "recipe" || name == "eval";
    return kSpec.contains(name) && isMap == isSection;
}

/// The content of a use: `name`, or `name - 6`.
struct Asked {
    std::string name;
    std::optional<std::int64_t> by;
};
std::optional<Asked> askedBy(std::string_view content) {
    const auto trim = [](std::string_view text) {
        while (!text.empty() && text.front() == ' ') {
            text.remove_prefix(1);
        }
        while (!text.empty() && text.back() == ' ') {
            text.remove_suffix(1);
        }
        return text;
    };
    const std::size_t sign = content.find_first_of("+-");
    Asked asked{std::string(trim(content.substr(0, sign))), std::nullopt};
    for (std::size_t from = 0; from != std::string::npos;) {
        const std::size_t dot = asked.name.find('.', from);
        if (!isName(std::string_view(asked.name).substr(from, dot - from))) {
            return std::nullopt;
        }
        from = dot == std::string::npos ? dot : dot + 1;
    }
    if (sign == std::string_view::npos) {
        return asked;
    }
    const std::string_view number = trim(content.substr(sign + 1));
    const auto by = parseNumber<std::int64_t>(number);
    if (!by || *by < 0) {
        return std::nullopt;
    }
    asked.by = content[sign] == '-' ? -*by : *by;
    return asked;
}

/// Why a text is not allowed in a path; "": it is.
std::string_view whyNoPath(std::string_view text) {
    if (text.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos ||
        text.find("..") != std::string_view::npos || text == ".") {
        return "would lead to another directory";
    }
    return text.find_first_of("*?[]{}") == std::string_view::npos
               ? ""
               : "would be a pattern (one of *?[]{})";
}

/// Returns the text next to a use in an expression that would be read together with its value: a
/// letter, digit, quote or dot, or another use. "": nothing.
std::string_view touching(std::string_view text, const expr::ParamUse& use) {
    const auto isPart = [](char c) {
        return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '\'' || c == '"' ||
               static_cast<unsigned char>(c) >= 0x80;
    };
    std::size_t begin = use.offset, end = use.offset + use.size;
    if (begin > 0 && text[begin - 1] == '}') {
        begin = text.rfind("${", begin);
        return text.substr(begin, use.offset - begin);
    }
    while (begin > 0 && isPart(text[begin - 1])) {
        --begin;
    }
    if (begin < use.offset) {
        return text.substr(begin, use.offset - begin);
    }
    if (text.substr(end).starts_with("${")) {
        return text.substr(end, text.find('}', end) + 1 - end);
    }
    while (end < text.size() && isPart(text[end])) {
        ++end;
    }
    return text.substr(use.offset + use.size, end - use.offset - use.size);
}

/// Copies `text`, with what `valueOf` makes of each of its uses.
Params::Filling fill(std::string_view text, const std::vector<expr::ParamUse>& uses,
                     const std::function<Result<std::string>(const expr::ParamUse&)>& valueOf) {
    Params::Filled filled;
    std::size_t at = 0;
    for (const expr::ParamUse& one : uses) {
        const Result<std::string> value = valueOf(one);
        if (!value.ok()) {
            return expr::ExprError{static_cast<std::uint32_t>(one.offset),
                                   std::string(messageOf(value.status()))};
        }
        filled.text.append(text, at, one.offset - at);
        filled.constants.push_back({filled.text.size(), value->size(), one.offset, one.size});
        filled.text += *value;
        at = one.offset + one.size;
    }
    filled.text.append(text, at);
    return filled;
}

}  // namespace

Result<Params::Value> Params::scalar(const YamlNode& node) {
    const std::string& text = node.text;
    if (node.isQuoted) {
        return Value{text, std::nullopt, {}};
    }
    if (text == "true" || text == "false") {
        return Value{text == "true", std::nullopt, {}};
    }
    if (const auto number = parseNumber<std::int64_t>(text)) {
        return Value{*number, std::nullopt, {}};
    }
    const bool isWhole =
        !text.empty() &&
        text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos;
    if (isWhole && text != "-") {
        return invalidArgument("must fit into 64 bits, and ", text.substr(0, 60),
                               " does not; in quotes it is a text");
    }
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, number);
    if (parsed == end && error == std::errc::result_out_of_range) {
        return invalidArgument("must fit into a double, and ", text.substr(0, 60),
                               " does not; in quotes it is a text");
    }
    if (parsed == end && error == std::errc() && std::isfinite(number)) {
        return Value{number, std::nullopt, {}};
    }
    if (text == "True" || text == "TRUE" || text == "False" || text == "FALSE") {
        return invalidArgument("is ", text,
                               "; write true or false, or put it in quotes, in which it is a text");
    }
    const std::optional<sys_days> date = dateIn(text);
    if (!date && isLikeDate(text)) {
        return invalidArgument("is ", text, ", which no calendar has; in quotes it is a text");
    }
    return Value{text, date, {}};
}

std::string_view Params::fixedTypeOf(const YamlNode& value) {
    if (!value.isScalar()) {
        return "";
    }
    const Result<Value> read = scalar(value);
    return !read.ok()                ? ""
           : read->date              ? "a date"
           : read->json.is_number()  ? "a number"
           : read->json.is_boolean() ? "true or false"
                                     : "";
}

Result<Params::Value> Params::valueOf(const YamlNode& node) {
    if (node.isScalar()) {
        return scalar(node);
    }
    if (!node.isSequence()) {
        return invalidArgument("must be a number, a text, true or false, or a list of these, not ",
                               node.describe());
    }
    Value list{Json::array(), std::nullopt, {}};
    for (const YamlNode& item : node.items) {
        if (!item.isScalar()) {
            return invalidArgument("must be a list of numbers, texts and bools; it holds ",
                                   item.describe());
        }
        ASSIGN_OR_RETURN(Value value, scalar(item));
        list.json.push_back(value.json);
        list.items.push_back(std::move(value));
    }
    return list;
}

Json Params::readMap(const YamlNode& map, const std::string& path, SpecErrors& errors) {
    const auto refuse = [&](expr::Position at, const std::string& name, std::string_view what) {
        if (errors.size() < kErrorsMax) {
            errors.push_back({at.line, at.column, strCat("params.", name, " ", what),
                              strCat("params.", name), "parameter"});
        }
    };
    Json out = Json::object();
    for (const YamlNode::Member& member : map.members) {
        const std::string name = strCat(path, path.empty() ? "" : ".", member.key.substr(0, 60));
        if (!isName(member.key) || member.key.size() > 60) {
            refuse(member.keyPosition, name,
                   "is not a name: letters, digits and _, a letter first, at most 60");
        } else if (path.empty() && isNameOfKey(name, member.value.isMap())) {
            refuse(member.keyPosition, name,
                   strCat("is also what filters call the spec's own key ", name,
                          "; give the parameter another name"));
        } else if (member.value.isMap()) {
            out[member.key] = readMap(member.value, name, errors);
        } else {
            Result<Value> value = valueOf(member.value);
            if (!value.ok()) {
                refuse(member.value.position, name, messageOf(value.status()));
                continue;
            }
            warnOfWords(member.value, name, warnings_);
            out[member.key] = value->json;
            values_[name] = *std::move(value);
        }
    }
    return out;
}

Params Params::read(const YamlNode* section, SpecErrors& errors) {
    Params params;
    if (section == nullptr || section->isNull()) {
        return params;
    }
    const auto refuse = [&](std::string message) {
        errors.push_back({section->position.line, section->position.column, std::move(message),
                          "params", "type"});
    };
    if (!section->isMap()) {
        refuse(strCat("params must be a map of names and values, not ", section->describe()));
        return params;
    }
    params.json_ = params.readMap(*section, "", errors);
    if (const std::size_t bytes = dumpJson(params.json_).size(); bytes > kBytesMost) {
        refuse(strCat("params take ", formatCount(static_cast<std::int64_t>(bytes)),
                      " bytes as JSON; at most ", formatCount(kBytesMost),
                      ": put long values into a file, and its path into params"));
    }
    return params;
}

Status Params::whyUnknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [known, value] : values_) {
        if (known.starts_with(name + ".")) {
            return invalidArgument("params.", name, " is a map; name a value of it, as in ${",
                                   known, "}");
        }
        names.push_back(known);
    }
    return notFound("unknown parameter '", name, "'",
                    names.empty() ? "; the spec has no params" : nameHint(name, names));
}

Result<Params::Value> Params::shifted(const std::string& name, const Value& value,
                                      std::int64_t by) {
    const std::string sum = strCat("${", name, by < 0 ? "" : "+", by, "}");
    if (value.date) {
        constexpr std::int64_t kDaysMost = 4'000'000;  // longer than the range of dates
        const auto date =
            std::abs(by) > kDaysMost ? std::nullopt : inRange(*value.date + std::chrono::days(by));
        return date ? Result<Value>(Value{dateText(*date), date, {}})
                    : invalidArgument(sum, " is not a date of the years 1 to 9999");
    }
    if (!value.json.is_number_integer()) {
        const bool isQuotedDate =
            value.json.is_string() && dateIn(value.json.get_ref<const std::string&>());
        return invalidArgument(sum, " needs a date or a whole number, and params.", name, " is ",
                               typeOf(value.json),
                               isQuotedDate ? "; a date is written without quotes" : "");
    }
    std::int64_t number = 0;
    if (__builtin_add_overflow(value.json.get<std::int64_t>(), by, &number)) {
        return invalidArgument(sum, " does not fit into 64 bits");
    }
    return Value{number, std::nullopt, {}};
}

Result<Params::Value> Params::find(std::string_view content) const {
    const std::optional<Asked> asked = askedBy(content);
    if (!asked) {
        return invalidArgument("'${", content.substr(0, 60),
                               "}' is not understood: write a parameter's name, as in ${day}, or "
                               "with a whole number, as in ${day-6}");
    }
    const auto found = values_.find(asked->name);
    if (found == values_.end()) {
        return whyUnknown(asked->name);
    }
    return asked->by ? shifted(asked->name, found->second, *asked->by)
                     : Result<Value>(found->second);
}

// One literal, whatever the value holds: a text stays within its quotes. It is written as a person
// would write it, so that both are the same stream.
std::string Params::literalOf(const Value& value) {
    if (value.json.is_array()) {
        std::string out;
        for (const Value& item : value.items) {
            strAppend(&out, out.empty() ? "(" : ", ", literalOf(item));
        }
        return out + ")";
    }
    if (value.json.is_string()) {
        const std::string text = expr::textLiteral(value.json.get_ref<const std::string&>());
        return value.date ? strCat("date ", text) : text;
    }
    return dumpJson(value.json);
}

Result<std::string> Params::literalAt(const expr::ParamUse& place) const {
    ASSIGN_OR_RETURN(const Value value, find(place.content));
    const std::string shown = strCat("${", place.content, "}");
    if (place.isInText) {
        return invalidArgument(shown,
                               " is within quotes, where nothing is put in; write it without them");
    }
    if (value.json.is_array() && value.items.empty()) {
        return invalidArgument(shown, " is an empty list");
    }
    if (value.json.is_array() && !place.isAfterIn) {
        return invalidArgument(shown, " is a list, which may be used only after `in`");
    }
    return literalOf(value);
}

Params::Filling Params::inExpression(std::string_view text) const {
    if (text.find("${") == std::string_view::npos) {
        return Filled{std::string(text), {}};
    }
    std::vector<expr::ParamUse> places = expr::paramUsesIn(text);
    std::erase_if(places, [this](const expr::ParamUse& one) {
        return one.isInText && !find(one.content).ok();  // the user's own text, not a parameter
    });
    return fill(text, places, [this, text](const auto& one) -> Result<std::string> {
        const std::string_view beside = one.isInText ? "" : touching(text, one);
        if (!beside.empty()) {
            return invalidArgument("${", one.content, "} touches ", beside.substr(0, 60),
                                   ", and a constant is not joined with its neighbours; write a "
                                   "blank between them, or make the whole one parameter");
        }
        return literalAt(one);
    });
}

Result<std::string> Params::pathPartAt(const expr::ParamUse& place) const {
    ASSIGN_OR_RETURN(const Value value, find(place.content));
    const std::string shown = strCat("${", place.content, "}");
    if (value.json.is_array()) {
        return invalidArgument(shown, " is a list; a path takes only one value");
    }
    std::string text =
        value.json.is_string() ? value.json.get<std::string>() : dumpJson(value.json);
    if (text.empty()) {
        return invalidArgument(shown,
                               " is an empty text, with which the path would name other files; "
                               "give the parameter a value, or write the path without it");
    }
    const std::string_view why = whyNoPath(text);
    return why.empty() ? Result<std::string>(std::move(text))
                       : invalidArgument(shown, " is '", text.substr(0, 60), "', which ", why,
                                         "; write that into the path itself");
}

Params::Filling Params::inPath(std::string_view text) const {
    std::vector<expr::ParamUse> places;
    for (std::size_t at = 0; (at = text.find("${", at)) != std::string_view::npos;) {
        const std::size_t end = text.find('}', at);
        if (end == std::string_view::npos) {
            return expr::ExprError{static_cast<std::uint32_t>(at), "this ${ has no closing }"};
        }
        places.push_back({at, end + 1 - at, std::string(text.substr(at + 2, end - at - 2))});
        at = end + 1;
    }
    return fill(text, places, [this](const auto& one) { return pathPartAt(one); });
}

}  // namespace millrace::spec
