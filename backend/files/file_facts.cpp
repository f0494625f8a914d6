#include "backend/files/file_facts.h"

namespace millrace::files {
namespace {

constexpr int kVersion = 4;  ///< of the facts on disk; another one is read anew

}  // namespace

std::string ReadOptions::cacheKey() const {
    if (format != "csv") {
        return strCat(format, "/", kVersion);
    }
    std::string key = strCat("csv/", kVersion, "/", csvSplitRows, "/",
                             static_cast<int>(csvDelimiter), "/", csvHasHeader ? 1 : 0);
    strAppend(&key, "/", csvReading());
    for (const auto& [name, type] : csvTypes) {
        // Which rows are left out depends on the types.
        strAppend(&key, csvDropsBadRows ? strCat("/", dumpJson(Json::array({name, type}))) : "");
    }
    return key;
}

std::string ReadOptions::csvReading() const {
    const ReadOptions usual;
    const bool isUsual = csvQuote == usual.csvQuote && csvComment == usual.csvComment &&
                         csvSkipRows == usual.csvSkipRows && !csvHasDecimalComma &&
                         csvNullValues.empty() && !csvDropsBadRows;
    return isUsual ? ""
                   : dumpJson(Json::array({static_cast<int>(csvQuote), static_cast<int>(csvComment),
                                           csvSkipRows, csvHasDecimalComma, csvNullValues,
                                           csvDropsBadRows}));
}

Json FileFacts::toJson() const {
    Json columns = Json::array();
    for (const expr::Field& field : schema.fields) {
        columns.push_back({field.name, static_cast<int>(field.type.kind), field.type.isList,
                           field.type.listSize, field.type.nullable});
    }
    Json refused = Json::array();
    for (const expr::RefusedColumn& column : schema.refused) {
        refused.push_back({column.name, column.why, column.hasFields});
    }
    Json stretches = Json::array();
    for (const ChunkFacts& chunk : chunks) {
        stretches.push_back(
            {chunk.rows, chunk.offset, chunk.bytes, chunk.firstLine, chunk.decodedBytes});
    }
    return {{"version", kVersion}, {"columns", columns},        {"refused", refused},
            {"rows", rows},        {"hash", contentHash},       {"etag", etag},
            {"chunks", stretches}, {"csv", csvFactsText(*this)}};
}

Result<FileFacts> FileFacts::fromJson(const Json& json) {
    if (jsonInt(json, "version") != kVersion) {
        return invalidArgument("file facts: version ", jsonInt(json, "version"), " is not ",
                               kVersion);
    }
    try {
        FileFacts facts;
        for (const Json& c : json.at("columns")) {
            const int kind = c.at(1).get<int>();
            if (kind < 0 || kind > static_cast<int>(expr::TypeKind::kTimestamp)) {
                return invalidArgument("file facts: a column has type ", kind, ", which is none");
            }
            facts.schema.fields.push_back({c.at(0).get<std::string>(),
                                           {static_cast<expr::TypeKind>(kind), c.at(2).get<bool>(),
                                            c.at(3).get<std::int32_t>(), c.at(4).get<bool>()}});
        }
        for (const Json& c : json.at("refused")) {
            facts.schema.refused.push_back(
                {c.at(0).get<std::string>(), c.at(1).get<std::string>(), c.at(2).get<bool>()});
        }
        facts.rows = json.at("rows").get<std::int64_t>();
        facts.contentHash = json.at("hash").get<std::string>();
        facts.etag = json.at("etag").get<std::string>();
        for (const Json& c : json.at("chunks")) {
            facts.chunks.push_back({c.at(0).get<std::int64_t>(), c.at(1).get<std::int64_t>(),
                                    c.at(2).get<std::int64_t>(), c.at(3).get<std::int64_t>(),
                                    c.at(4).get<std::vector<std::int64_t>>()});
            if (facts.chunks.back().decodedBytes.size() != facts.schema.fields.size()) {
                return invalidArgument("file facts: a chunk has sizes of other columns");
            }
        }
        RETURN_IF_ERROR(readCsvFacts(json.at("csv").get<std::string>(), facts));
        return facts;
    } catch (const Json::exception& e) {
        return invalidArgument("file facts: ", e.what());
    }
}

}  // namespace millrace::files
