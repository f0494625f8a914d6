#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/data/rows_view.h"
#include "app/cli/frame/table.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr int kDefaultRows = 10, kMostRows = 1000;

// A narrow terminal omits the last columns first.
void printRows(CliContext& context, const Json& answer) {
    std::vector<Column> columns;
    const Json& list = jsonMember(answer, "columns");
    for (const Json& column : list) {
        columns.push_back({jsonString(column, "name"),
                           isNumberType(jsonString(column, "type")) ? Align::kRight : Align::kLeft,
                           8, static_cast<int>(columns.size()), true});
    }
    Table table(std::move(columns));
    const auto rows = static_cast<std::size_t>(jsonInt(answer, "rows"));
    for (std::size_t row = 0; row < rows; ++row) {
        std::vector<TableCell> cells;
        for (const Json& column : list) {
            cells.push_back(valueCell(jsonMember(column, "values")[row].get<std::string>(),
                                      jsonMember(column, "is_null")[row].get<bool>(),
                                      Tone::kPlain));
        }
        table.add(std::move(cells));
    }
    context.out << table.render(context.terminal);
}

}  // namespace

Result<int> runHead(CliContext& context, const ParsedArgs& args) {
    const int rows = args.number("--rows", kDefaultRows);
    if (rows < 1 || rows > kMostRows) {
        return failUsage(context, "--rows takes 1 to 1000");
    }
    ASSIGN_OR_RETURN(Json question, asUsage(datasetQuestion(args, "head")));
    question["rows"] = rows;
    ASSIGN_OR_RETURN(const Json answer, askDataset(context, std::move(question)));
    if (args.isJson()) {
        Json document = answer;
        for (const char* key : {"ok", "notes"}) {
            document.erase(key);
        }
        for (Json& column : document["columns"]) {
            nullsInPlace(column);
        }
        printDocument(context, document);
        return kExitOk;
    }
    printRows(context, answer);
    const std::int64_t shownRows = jsonInt(answer, "rows"), all = jsonInt(answer, "rows_total");
    if (shownRows < all || all == 0) {
        context.out << paint(context.terminal, Tone::kDim,
                             strCat(formatCount(shownRows), " of ", formatCount(all), " rows"))
                    << '\n';
    }
    return kExitOk;
}

}  // namespace millrace::cli
