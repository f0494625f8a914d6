#include "app/cli/frame/csv.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using Fields = std::map<std::string, std::string>;  ///< by dotted name

void addFields(const std::string& name, const Json& value, Fields& fields) {
    if (value.is_object()) {
        for (const auto& [key, member] : value.items()) {
            addFields(name.empty() ? key : strCat(name, ".", key), member, fields);
        }
        return;
    }
    fields[name] = value.is_null()     ? ""
                   : value.is_string() ? value.get<std::string>()
                                       : dumpJson(value);
}

std::vector<Fields> fieldsOf(const std::vector<Json>& rows) {
    std::vector<Fields> all;
    std::ranges::transform(rows, std::back_inserter(all), csvFieldsOf);
    return all;
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string copy = "\"";
    for (const char c : text) {
        copy += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return copy + '"';
}

template <class TextOf>
void printRow(CliContext& context, const std::vector<std::string>& names, const TextOf& textOf) {
    std::string line;
    for (const std::string& name : names) {
        strAppend(&line, &name == &names.front() ? "" : ",", quoted(textOf(name)));
    }
    // Readers skip empty lines, so a single empty field is quoted.
    context.out << (line.empty() ? "\"\"" : line) << '\n';
}

void print(CliContext& context, const std::vector<std::string>& names,
           const std::vector<Fields>& rows) {
    printRow(context, names, [](const std::string& name) { return name; });
    for (const Fields& row : rows) {
        printRow(context, names, [&](const std::string& name) {
            const auto found = row.find(name);
            return found == row.end() ? std::string() : found->second;
        });
    }
    context.out << std::flush;
}

}  // namespace

Fields csvFieldsOf(const Json& row) {
    Fields fields;
    addFields("", row, fields);
    return fields;
}

void printCsv(CliContext& context, const std::vector<std::string>& first,
              const std::vector<Json>& rows, const Json& shape) {
    const std::vector<Fields> all = fieldsOf(rows);
    Fields others = csvFieldsOf(shape);
    for (const Fields& row : all) {
        for (const auto& [name, text] : row) {
            others[name] += text;
        }
    }
    // An object that is unknown in one row has columns of its members in others.
    const auto isObject = [&](const std::string& name) {
        const auto member = others.lower_bound(name + ".");
        return member != others.end() && member->first.starts_with(name + ".");
    };
    std::vector<std::string> names = first;
    for (const auto& [name, text] : others) {
        const bool isColumn = !text.empty() || !isObject(name);
        if (isColumn && std::ranges::find(first, name) == first.end()) {
            names.push_back(name);
        }
    }
    print(context, names, all);
}

void printCsvColumns(CliContext& context, const std::vector<std::string>& names,
                     const std::vector<Json>& rows) {
    print(context, names, fieldsOf(rows));
}

}  // namespace millrace::cli
