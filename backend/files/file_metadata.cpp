#include "backend/files/file_metadata.h"

#include "backend/text/json.h"

namespace millrace::files {
namespace {

constexpr int kVersion = 7;  ///< of the facts on disk; another one is read anew

}  // namespace

std::string ReadOptions::cacheKey() const {
    if (format != "csv") {
        return strCat(format, "/", kVersion);
    }
    std::string key = strCat("csv/", kVersion, "/", csvSplitRows, "/",
                             static_cast<int>(csvDelimiter), "/", csvHasHeader ? 1 : 0);
    strAppend(&key, "/", csvReading());
    for (const auto& [name, type] : csvTypes) {
        // The types decide which rows are dropped.
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

}  // namespace millrace::files
