#include "daemon/worker/loader/spec_error.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::loader {
namespace {

// The part of an error behind a place in the data, as in "log.csv: row 7, column 'price': ...".
std::string_view behindRow(std::string_view message) {
    constexpr std::string_view kRow = ": row ", kColumn = ", column '";
    const std::size_t at = message.find(kRow);
    if (at == std::string_view::npos) {
        return message;
    }
    std::string_view rest = message.substr(at + kRow.size());
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(digits);
    const bool hasColumn = rest.starts_with(kColumn);
    const std::size_t end = hasColumn ? rest.find("': ", kColumn.size()) : 0;
    if (digits == 0 || end == std::string_view::npos || !(hasColumn || rest.starts_with(": "))) {
        return message;
    }
    return rest.substr(end + (hasColumn ? 3 : 2));
}

// The path of a step's part in the text: errors name columns and steps, but not the key between.
std::string stepPath(const spec::SourceMap& source, const std::string& step,
                     const std::string& part) {
    const expr::Position whole = source.find(step);
    for (const std::string& path : {step + ".columns" + part, step + part, step + ".expr"}) {
        const expr::Position place = source.find(path);
        if (place.line != whole.line || place.column != whole.column) {
            return path;
        }
    }
    return step;
}

// The key at the start of an error or behind its row, as in "recipe.hash_user: ..." and
// "recipe.young (age < 20): ..."; "" if the text has no such key. Steps are named in errors and
// numbered in the text.
std::string keyOf(std::string_view message, const spec::RunSpec& spec) {
    message = behindRow(message);
    std::string key(message.substr(
        0, std::min({message.find(": "), message.find(", row "), message.find(" (")})));
    for (std::size_t i = 0; i < spec.recipe.size() && key.starts_with("recipe."); ++i) {
        const std::string step = strCat("recipe.", spec.recipe[i].name);
        if (key == step || key.starts_with(step + ".")) {
            key = stepPath(*spec.source, strCat("recipe[", i, "]"), key.substr(step.size()));
        }
    }
    return spec.source->find(key).line > 0 ? key : "";
}

}  // namespace

spec::SpecError noDataset(const spec::RunSpec& spec) {
    return errorOf(
        invalidArgument("the spec has no dataset, so there are no rows to look at; `millrace run` "
                        "starts its command"),
        "command", "missing", &spec);
}

spec::SpecError errorOf(const Status& status, std::string path, std::string code,
                        const spec::RunSpec* spec) {
    spec::SpecError error;
    error.message = std::string(messageOf(status));
    error.path = std::move(path);
    error.code = std::move(code);
    if (spec != nullptr && spec->source != nullptr) {
        const std::string key = keyOf(error.message, *spec);
        error.path = key.empty() ? error.path : key;
        // The root's position would point at a line that has nothing to do with the error.
        const expr::Position place =
            error.path.empty() ? expr::Position{} : spec->source->find(error.path);
        error.line = place.line;
        error.column = place.column;
    }
    return error;
}

}  // namespace millrace::loader
