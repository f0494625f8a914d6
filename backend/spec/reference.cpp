// Generates the reference page from the key table and the function table.
#include <algorithm>
#include <iterator>
#include <utility>

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include "backend/expr/functions.h"
#include "backend/spec/key_table.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {
namespace {

constexpr std::pair<KeyType, std::string_view> kTypeTexts[] = {
    {KeyType::kText, "text"},
    {KeyType::kExpr, "expression"},
    {KeyType::kBool, "true or false"},
    {KeyType::kInt, "integer"},
    {KeyType::kSeed, "integer"},
    {KeyType::kReal, "number"},
    {KeyType::kChoice, "word"},
    {KeyType::kTextList, "list of texts"},
    {KeyType::kDense, "list of texts"},
    {KeyType::kVectors, "list of texts"},
    {KeyType::kIntList, "list of integers"},
    {KeyType::kRealList, "list of numbers"},
    {KeyType::kTextMap, "names and texts"},
    {KeyType::kParams, "names and values"},
    {KeyType::kNamedExprs, "names and expressions"},
    {KeyType::kJoinKeys, "columns"},
    {KeyType::kOrder, "word or {by: column}"},
    {KeyType::kSectionMap, "names and maps"},
    {KeyType::kSectionList, "list of maps"},
    {KeyType::kVariations, "list of maps"},
    {KeyType::kRecipe, "list of steps"},
};

std::string_view typeText(KeyType type) {
    const auto at =
        std::ranges::find(kTypeTexts, type, &std::pair<KeyType, std::string_view>::first);
    return at == std::end(kTypeTexts) ? "map" : at->second;
}

std::string number(double value) {
    return strCat(value);
}

std::string limitsText(const Key& key) {
    const KeyLimits& l = key.limits;
    if (!l.choices.empty()) {
        return strCat(
            ": ",
            absl::StrJoin(std::vector<std::string>(l.choices.begin(), l.choices.end()), ", "));
    }
    std::string text = l.unit.empty() ? "" : strCat(", in ", l.unit);
    // The default limits are infinite. A largest value from 1e6 on only keeps nonsense out, so the
    // page does not show it.
    if (l.min > -1e300) {
        strAppend(&text, l.isMinExcluded ? ", above " : ", from ", number(l.min));
    }
    if (l.max < 1e6) {
        strAppend(&text, " to ", number(l.max));
    }
    return text;
}

// In a Markdown table a bar ends the cell even within backticks, and "<" before a letter begins an
// HTML tag.
std::string escaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool isTag =
            text[i] == '<' && i + 1 < text.size() && absl::ascii_isalpha(text[i + 1]);
        out += isTag || text[i] == '|' ? "\\" : "";
        out += text[i];
    }
    return out;
}

std::string keyRow(const Key& key) {
    const std::string fallback = key.limits.isRequired  ? std::string("required")
                                 : key.fallback.empty() ? std::string()
                                                        : strCat("`", key.fallback, "`");
    const std::string word =
        key.limits.word.empty() ? std::string() : strCat(key.limits.word, ", or ");
    return strCat("| `", key.path, "` | ", word, typeText(key.type), escaped(limitsText(key)),
                  " | ", fallback, " | ", escaped(key.doc), " |\n");
}

std::string keySection(std::string_view title, std::string_view top) {
    std::string text =
        strCat("\n### ", title, "\n\n| key | type | default | meaning |\n", "|---|---|---|---|\n");
    for (const Key& key : keyTable()) {
        const std::size_t dot = key.path.find('.');
        const bool isTop = dot == std::string_view::npos;
        if (top.empty() ? isTop : (!isTop && key.path.substr(0, dot) == top)) {
            text += keyRow(key);
        }
    }
    return text;
}

std::string functionRow(const expr::Function& f) {
    std::string others;
    for (const std::string_view alias : f.aliases) {
        strAppend(&others, others.empty() ? "" : ", ", "`", alias, "`");
    }
    return strCat("| `", f.name, "(", escaped(f.arguments), ")` | ", others, " | ", escaped(f.doc),
                  " |\n");
}

// The text around the generated tables. Links are relative to docs/reference, where the page is; a
// test compares the page with specReference(), so it is generated again after each change here.
constexpr std::string_view kIntroduction = R"(# Spec reference

A run is one YAML file of at most 1 MB. This page is made from the tables that the reader uses
(`specReference()` in `backend/spec`); a test compares them. Keys that are not listed are errors. In
paths `*` stands for a name that you choose. A variation (`set`) and `--set key=value` use the same
paths; below `recipe` they name a step by its name, or by its kind if that occurs once
(`recipe.sample.keep`, `recipe.spam.enabled`). Order of application: file, variation, `--set`. A
value of `--set` is YAML; a text that is not valid YAML, such as `"Item Price" > 3`, is taken as it
is. A variation and `--set` can also remove entries: `features.ids: {remove: [tailnum]}` removes
names from a list, `embeddings.tailnum: null` removes an entry from `embeddings`, `labels`,
`features.sequences`, `dataset.types`, `dataset.csv.types` or `params`.

A spec with `command` may leave out `dataset`: the run is then [its command
alone](../guides/scripts.md#a-script-without-a-dataset), and the keys of streams (`recipe`, `label`,
`labels`, `features`, `embeddings`, `batch`, `eval`, `train.max_steps`,
`train.checkpoint.every_steps`, `train.nodes`, memory, threads and data workers of `resources`) are
rejected.

## Parameters

```yaml
params: {day: 2024-03-07, floor: 0.5, shop: "O'Brien", ids: [3, 5], window: {days: 14}}
dataset:
  path: "log/day=${day}/*.parquet"
  where: ts >= ${day-6} and price > ${floor} and shop = ${shop}
```

| | |
|---|---|
| names | letters, digits and `_`, beginning with a letter; names in a map are joined by dots (`window.days`) |
| values | whole numbers of 64 bits, numbers, texts, `true` and `false`, dates (`2024-03-07`, without quotes), and lists of these. Anything in quotes is a text, and so is any other word: `no` and `off` are texts, not `false`, and `check` notes it |
| `${name}` | one constant of the value's type. Allowed in `dataset.path`, `dataset.where` (also of `eval`), tables of joins and vocabularies, labels and all expressions of recipes. A text stays one text literal, whatever it contains. Inside quotes nothing is replaced |
| `${name-6}`, `${name+1}` | a date some days earlier or later; for a whole number, the difference or the sum |
| a list | only after `in`: `item in ${ids}` |
| around `${name}` | a blank, an operator, a comma or a bracket. It is an error if a letter, digit, quote, dot or another parameter is directly beside it |
| in a path | the value's text. Rejected are an empty value, a list, and a value that contains `/`, `..` or a character of patterns (`*?[]{}`) |
| set | `--set params.floor=0.1`, `set` of a variation: only names that `params` defines. A number, a date, and `true` or `false` keep their type; a whole number may become one with a fraction. A map changes the names that it has and keeps the others |
| evaluation | `eval.dataset` and the labels of the evaluation are those of the base, with the base's values; a variation that adds a label is evaluated with its own labels |
| hashes | the spec hash covers all of `params`; the stream hash covers expressions and paths with their values |

In YAML a `{` within braces or brackets needs quotes: `{where: "day = ${day}"}`. A script reads its
parameters as [`millrace.params`](python.md). A name that filters would take for a key of the spec
(`name`, a map `batch`) is rejected.

## Keys
)";

constexpr std::string_view kExpressions = R"(
## Expressions

Expressions use SQL's scalar syntax. Keywords and functions are case-insensitive. Columns are
case-sensitive, and in double quotes if they are not a plain name. Operators from weakest to
strongest:

| operators | notes |
|---|---|
| `or` | three-valued: null counts as unknown |
| `and` | |
| `not x` | |
| `x is null`, `x is not null` | never null |
| `=` `==` `<>` `!=` `<` `<=` `>` `>=` | cannot be chained; `= null` is an error, because it is never true: write `is null` |
| `x in (a, b)`, `x between a and b`, `x like 'a%'` | also with `not`; `%` any text, `_` one character |
| `a \|\| b` | joins strings (and integers); null if one is null |
| `a + b`, `a - b` | an overflow of integers is an error with file and row |
| `a * b`, `a / b`, `a // b`, `a % b` | `/` gives a float; `//` gives an integer for integers, and the same as `/` for floats; division by zero gives null; `%` has the sign of `a` |
| `a ^ b`, `a ** b` | power, as double |
| `-a` | |
| `x::type`, `list[i]`, `t at time zone 'Europe/Berlin'` | cast; element i, from 1; local time |

Literals: `12`, `1.5`, `1e-3`, `'text'` (`''` for a quote), `true`, `false`, `null`, `date
'2024-01-31'`, `timestamp '2024-01-31 12:00:00'`. `case when c then x else y end`, `case x when a
then y end`, `if(c, x, y)`, `cast(x as type)`, `try_cast(x as type)` (null if it does not fit).
Types: bool, int8 to int64 (tinyint, smallint, int, bigint), uint8 to uint64, float (real), double,
string (varchar, text), date, timestamp; `type[]` for lists.

Result types are DuckDB's: two integers give the wider type of the two, a float with an integer
gives a float, and `/` of integers gives a double. A literal takes the type of the other operand if
it fits. These rules differ from DuckDB's:

- A literal with a point is a double (beside a float, a float), never a decimal.
- Decimal columns are calculated as the nearest double. A conditional whose branches are all decimal
  stays decimal. With a null or a number as a branch, and in `greatest` and `least`, it is a double.
- A text is compared with a number only after a cast.
- A cast of a float to an integer rounds halves to even. A cast of a decimal or a text uses all its
  digits and rounds halves away from zero, as in DuckDB.
- `x / 0` and `x % 0` are null. DuckDB gives inf or NaN for floats unless its setting
  `ieee_floating_point_ops` is off.
- `round(x, digits)` multiplies by a power of ten, rounds halves away from zero, and divides again.
  So `round(2.65, 1)` is 2.7, although the double 2.65 is a little less; NumPy and DuckDB 2.0 give
  2.6.
- uint64 and signed integers are combined only after a cast. A literal beyond int64 is a uint64. A
  time of `as_of` cannot be a uint64.

NaN equals itself and is greater than every number, as in DuckDB: `delay > 15` is true for it, also
in a label. If a label reads a column with NaN, `check`, `preview` and a submit report the number of
these rows; `where: not isnan(delay)` leaves them out.

Texts also differ from DuckDB:

- As a number, `1_000` and `0x10` do not fit.
- As a date or time, only `2024-02-29` fits, alone or followed by a space or `T` and `10:11`,
  `10:11:12` or up to six decimals of a second. `2024-2-29` and `2024/02/29` do not fit, nor does
  other text after a date. An offset (`+02`) is applied.
- A whole double cast to a text has no `.0`; a timestamp always has six decimals.
- `epoch_ms` rounds down.
- In texts that are not UTF-8 (binary columns), `lower` and `upper` change the ASCII letters; other
  bytes stay.

A date beyond the years of a timestamp (292277), such as DuckDB's and Postgres' infinity, is later
or earlier than every timestamp. Its parts (`year`, `date_trunc`, ...) and its `try_cast` to a
timestamp are null. As a text it is `infinity` or `-infinity`.

Times are UTC, also those of columns without a zone. `t at time zone 'Europe/Berlin'`, or
`timezone('Europe/Berlin', t)`, is the local time there at `t`, as a timestamp. DuckDB gives the
same for a `timestamptz`, but reads a `timestamp` as local time. Local times cannot be converted
back. When clocks are set forward, no `t` gives the hour that is left out; when they are set back,
two give the same local time. The rules are the machine's (`$TZDIR`, else `/usr/share/zoneinfo`;
Debian's package tzdata); a machine without them rejects the spec. The zone's file is pinned like a
side table: it is in plan and receipt, the plan hash covers it, and a run does not resume with other
rules.

## Formats of times

`strptime(s, format)` reads a text of any other form: `strptime(day, '%d.%m.%Y')` of `1.2.2024` or
`01.02.2024` is the timestamp 2024-02-01 00:00:00. A text that does not match the format gives null,
as `try_cast` does, and as DuckDB's `try_strptime` does, which is another name of the function;
DuckDB's `strptime` fails. The format is a literal. The spec is rejected if the format has an
unknown field, or no field.

| field | reads |
|---|---|
| `%Y`, `%y` | the year with up to four digits, or with up to two: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068 |
| `%m`, `%b`, `%B` | the month as a number, as the first three letters of its English name, or as the whole name |
| `%d`, `%j` | the day of the month, or of the year (where the format has neither `%d` nor `%m`) |
| `%H`, `%I`, `%p` | the hour from 0 to 23, or from 1 to 12 with AM or PM |
| `%M`, `%S` | the minute, the second |
| `%f`, `%g`, `%n` | up to six, three or nine digits behind a second's point; digits beyond microseconds are dropped |
| `%z` | an offset from UTC: `+02`, `+0230`, `+02:30`, `+02:30:15`; the result is UTC |
| `%a`, `%A` | the first three letters or the whole English name of a weekday; it need not fit the date |
| `%%` | a percent sign |

`%d` and `%-d` both accept numbers with or without leading zeros; names may be in upper or lower
case. A space of the format matches one or more spaces. Spaces around the text are skipped; other
text behind the last field does not match. Parts that the format does not have are those of
1900-01-01 00:00:00. Hour 24 and second 60 give null. DuckDB differs in these cases: here, day 366
of a shorter year and the words `infinity` and `epoch` give null, and a format may not contain names
of zones (`%Z`), weeks (`%U`, `%V`, `%W`, `%G`, `%u`, `%w`) or compounds (`%c`, `%x`, `%X`).

## Functions

A null argument gives null unless the table says otherwise.

| function | also | result |
|---|---|---|
)";

}  // namespace

std::string specReference() {
    std::string text(kIntroduction);
    text += keySection("Top", "");
    // The order of the page's sections; keys keep the order of the key table. A key below none of
    // these sections would be missing.
    for (const char* top : {"dataset", "recipe", "labels", "features", "embeddings", "batch",
                            "model", "train", "eval", "resources"}) {
        text += keySection(top, top);
    }
    text += kExpressions;
    for (const expr::Function& function : expr::allFunctions()) {
        text += functionRow(function);
    }
    return text;
}

std::vector<std::string> specKeys() {
    std::vector<std::string> keys;
    for (const Key& key : keyTable()) {
        keys.emplace_back(key.path);
    }
    return keys;
}

}  // namespace millrace::spec
