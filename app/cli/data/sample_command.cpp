#include <algorithm>
#include <map>
#include <set>

#include <absl/strings/str_join.h>

#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/data/rows_view.h"
#include "app/cli/data/spec_errors.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr int kDefaultRows = 10, kMostRows = 1000;

// One stage of the answer, with access by column and row.
struct Stage {
    explicit Stage(const Json& json) : json(json) {
        for (const Json& id : jsonMember(json, "row_ids")) {
            rows.emplace(id.get<std::int64_t>(), rows.size());
        }
        for (const Json& column : jsonMember(json, "columns")) {
            columns.emplace(jsonString(column, "name"), &column);
        }
    }
    bool has(const std::string& column, std::int64_t row) const {
        return columns.contains(column) && rows.contains(row);
    }
    bool isNull(const std::string& column, std::int64_t row) const {
        const Json& nulls = jsonMember(*columns.at(column), "is_null");
        return !nulls.empty() && nulls[rows.at(row)].get<bool>();
    }
    std::string value(const std::string& column, std::int64_t row) const {
        return jsonMember(*columns.at(column), "values")[rows.at(row)].get<std::string>();
    }
    bool isSameAt(const Stage& other, const std::string& column, std::int64_t row) const {
        return other.has(column, row) && has(column, row) &&
               isNull(column, row) == other.isNull(column, row) &&
               value(column, row) == other.value(column, row);
    }
    std::string typeOf(const std::string& column) const {
        return jsonString(*columns.at(column), "type");
    }

    const Json& json;
    std::map<std::int64_t, std::size_t> rows;  ///< id -> index
    std::map<std::string, const Json*> columns;
};

TableCell cellOf(const Stage& stage, const std::string& column, std::int64_t row, Tone tone) {
    return valueCell(stage.value(column, row), stage.isNull(column, row), tone);
}

// The effect of a step, shown beside its table.
struct Effect {
    std::vector<std::string> added, removed;  ///< columns
    std::int64_t rowsRemoved = 0;
    std::int64_t valuesChanged = 0;
    bool isNone() const {
        return added.empty() && removed.empty() && rowsRemoved == 0 && valuesChanged == 0;
    }
};

Effect effectOf(const Stage& before, const Stage& after) {
    Effect effect;
    effect.rowsRemoved = static_cast<std::int64_t>(before.rows.size() - after.rows.size());
    for (const Json& column : jsonMember(after.json, "columns")) {
        const std::string name = jsonString(column, "name");
        if (!before.columns.contains(name)) {
            effect.added.push_back(name);
            continue;
        }
        for (const auto& [row, place] : after.rows) {
            effect.valuesChanged += after.isSameAt(before, name, row) ? 0 : 1;
        }
    }
    for (const auto& [name, column] : before.columns) {
        if (!after.columns.contains(name)) {
            effect.removed.push_back(name);
        }
    }
    return effect;
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 6;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
        strAppend(&text, i == 0 ? "" : ", ", names[i]);
    }
    return names.size() > kMost ? strCat(text, " and ", names.size() - kMost, " more") : text;
}

/// " (no partner: 2)": the reasons that the step counted at least once.
std::string reasonsOf(const Stage& after) {
    std::string text;
    for (const Json& reason : jsonMember(after.json, "reasons")) {
        if (jsonInt(reason, "rows") > 0) {
            strAppend(&text, text.empty() ? " (" : ", ", jsonString(reason, "name"), ": ",
                      jsonInt(reason, "rows"));
        }
    }
    return text.empty() ? "" : text + ")";
}

std::string sentenceOf(const Stage& after, const Effect& effect) {
    if (!jsonBool(after.json, "is_enabled")) {
        return "switched off";
    }
    std::vector<std::string> parts;
    if (effect.rowsRemoved > 0) {
        parts.push_back(strCat("removes ", effect.rowsRemoved, " of ",
                               session::countText(jsonInt(after.json, "rows_in"), "row")));
    }
    if (!effect.added.empty()) {
        parts.push_back("adds " + listed(effect.added));
    }
    if (!effect.removed.empty()) {
        parts.push_back("leaves out " + listed(effect.removed));
    }
    if (effect.valuesChanged > 0) {
        parts.push_back("changes " + session::countText(effect.valuesChanged, "value"));
    }
    return strCat(parts.empty() ? "changes nothing in these rows" : absl::StrJoin(parts, "; "),
                  reasonsOf(after));
}

// A narrow terminal keeps the columns that the step made or changed; the last others go first.
Table tableOf(const Stage& stage, const Stage* before, const Effect& effect) {
    std::vector<Column> columns = {{"", Align::kLeft, 1}, {"ROW", Align::kRight}};
    const auto& list = jsonMember(stage.json, "columns");
    int place = 0;
    for (const Json& column : list) {
        const std::string name = jsonString(column, "name");
        const bool isNew = before != nullptr && std::ranges::count(effect.added, name) > 0;
        ++place;
        columns.push_back({(isNew ? "+ " : "") + name,
                           isNumberType(stage.typeOf(name)) ? Align::kRight : Align::kLeft, 8,
                           isNew ? 1 : 1 + place, true});
    }
    return Table(std::move(columns));
}

// Prints the rows before the step; rows that it removed are marked and show their old values.
void printRows(CliContext& context, const Stage& stage, const Stage* before, const Effect& effect) {
    Table table = tableOf(stage, before, effect);
    for (const auto& [row, place] : (before != nullptr ? *before : stage).rows) {
        const bool isKept = stage.rows.contains(row);
        const Stage& from = isKept ? stage : *before;
        std::vector<TableCell> cells = {{isKept ? "" : "-", Tone::kBad},
                                        {std::to_string(row), Tone::kDim}};
        for (const Json& column : jsonMember(stage.json, "columns")) {
            const std::string name = jsonString(column, "name");
            if (!from.has(name, row)) {
                cells.emplace_back("");
                continue;
            }
            const bool isSame = before == nullptr || from.isSameAt(*before, name, row);
            const Tone tone = !isKept ? Tone::kBad : isSame ? Tone::kPlain : Tone::kGood;
            cells.push_back(cellOf(from, name, row, tone));
        }
        table.add(std::move(cells));
    }
    if (!table.isEmpty()) {
        context.out << table.render(context.terminal);
    }
}

void printStages(CliContext& context, const Json& stages) {
    const Terminal& terminal = context.terminal;
    std::vector<Stage> all;
    for (const Json& json : stages) {
        all.emplace_back(json);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Stage* before = i == 0 ? nullptr : &all[i - 1];
        const Effect effect = before == nullptr ? Effect{} : effectOf(*before, all[i]);
        const std::string text = jsonString(all[i].json, "text");
        const std::string what =
            before == nullptr ? strCat(jsonInt(all[i].json, "rows_out"), " of ",
                                       session::countText(jsonInt(all[i].json, "rows_in"), "row"))
                              : sentenceOf(all[i], effect);
        context.out << '\n'
                    << paint(terminal, Tone::kStrong,
                             shown(terminal, jsonString(all[i].json, "step")))
                    << "  " << (text.empty() ? "" : shown(terminal, text) + "\n  ")
                    << paint(terminal, Tone::kInfo, shown(terminal, what)) << '\n';
        if (before == nullptr || !effect.isNone()) {
            printRows(context, all[i], before, effect);
        }
    }
}

Json documentOf(const Json& answer) {
    Json document = answer;
    for (Json& stage : document["stages"]) {
        stage["enabled"] = jsonBool(stage, "is_enabled");
        stage.erase("is_enabled");
        for (Json& column : stage["columns"]) {
            nullsInPlace(column);
        }
    }
    return document;
}

}  // namespace

Result<int> runSample(CliContext& context, const ParsedArgs& args) {
    const int rows = args.number("--rows", kDefaultRows);
    const int split = args.number("--split", 0), firstRow = args.number("--first-row", 0);
    if (rows < 1 || rows > kMostRows || split < 0 || firstRow < 0) {
        return failUsage(context, "--rows takes 1 to 1000, --split and --first-row numbers from 0");
    }
    ASSIGN_OR_RETURN(Json question, specQuestion(args, "steps"));
    question["variation"] = args.text("--variation");
    question["rows"] = rows;
    question["split"] = split;
    question["first_row"] = firstRow;
    ASSIGN_OR_RETURN(const Json answer, askLoader(context, question));
    const std::vector<values::SpecError> errors = loaderErrors(jsonMember(answer, "errors"));
    if (args.isJson()) {
        printDocument(context, documentOf(answer));
    } else if (!jsonMember(answer, "stages").empty()) {
        context.out << paint(context.terminal, Tone::kStrong,
                             shown(context.terminal, args.words.front()))
                    << "  split " << split << " of " << jsonInt(answer, "splits") << ", "
                    << session::countText(jsonInt(answer, "split_rows"), "row") << '\n';
        printStages(context, jsonMember(answer, "stages"));
    }
    context.err << describe(errors, args.words.front(), jsonString(question, "text"), "error",
                            context.errorTerminal, args.has("--set"));
    return errors.empty() ? kExitOk : kExitFailed;
}

}  // namespace millrace::cli
