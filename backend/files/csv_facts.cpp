// Converts the CSV-specific facts to text and back.
#include "backend/files/file_metadata.h"
#include "backend/text/json.h"

namespace millrace::files {
namespace {

Json placeJson(const CsvPlace& place) {
    return Json::array({static_cast<int>(place.form), place.line, place.value});
}

Result<CsvPlace> placeOf(const Json& json) {
    const int form = json.at(0).get<int>();
    if (form < 0 || form >= static_cast<int>(kCsvForms)) {
        return invalidArgument("file facts: a value has form ", form, ", which is none");
    }
    return CsvPlace{static_cast<CsvForm>(form), json.at(1).get<std::int64_t>(),
                    json.at(2).get<std::string>()};
}

Status readColumns(const Json& json, FileMetadata& facts) {
    for (const Json& c : json.at("columns")) {
        CsvColumn& column = facts.csv.emplace_back();
        c.at(0).get_to(column.counts);
        for (const Json& place : c.at(1)) {
            ASSIGN_OR_RETURN(CsvPlace first, placeOf(place));
            column.firsts.push_back(std::move(first));
        }
        c.at(2).get_to(column.texts);
    }
    json.at("bad_rows").get_to(facts.badRows);
    for (const Json& one : json.at("bad")) {
        ASSIGN_OR_RETURN(CsvPlace first, placeOf(one.at(2)));
        facts.bad.push_back(
            {one.at(0).get<std::string>(), one.at(1).get<std::int64_t>(), std::move(first)});
    }
    json.at("is_compressed").get_to(facts.isCompressed);
    return facts.csv.size() == facts.schema.fields.size()
               ? okStatus()
               : invalidArgument("file facts: of other columns");
}

}  // namespace

std::string csvFactsText(const FileMetadata& facts) {
    if (facts.csv.empty()) {
        return "";
    }
    Json columns = Json::array();
    for (const CsvColumn& column : facts.csv) {
        Json firsts = Json::array();
        for (const CsvPlace& place : column.firsts) {
            firsts.push_back(placeJson(place));
        }
        columns.push_back(Json::array({column.counts, std::move(firsts), column.texts}));
    }
    Json bad = Json::array();
    for (const CsvBadRows& one : facts.bad) {
        bad.push_back(Json::array({one.reason, one.rows, placeJson(one.first)}));
    }
    return dumpJson({{"columns", std::move(columns)},
                     {"bad_rows", facts.badRows},
                     {"bad", std::move(bad)},
                     {"is_compressed", facts.isCompressed}});
}

Status readCsvFacts(std::string_view text, FileMetadata& facts) {
    if (text.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "file facts"));
    try {
        return readColumns(json, facts);
    } catch (const Json::exception& e) {
        return invalidArgument("file facts: ", e.what());
    }
}

}  // namespace millrace::files
