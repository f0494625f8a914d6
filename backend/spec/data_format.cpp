#include "backend/spec/data_format.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include "backend/core/status.h"

namespace millrace::spec {
namespace {

bool endsInOneOf(std::string_view path, std::initializer_list<std::string_view> endings) {
    return std::ranges::any_of(endings, [path](std::string_view ending) {
        return path.size() >= ending.size() &&
               std::equal(ending.rbegin(), ending.rend(), path.rbegin(),
                          [](char a, char b) { return a == absl::ascii_tolower(b); });
    });
}

/// The path without the suffix of a compressed file.
std::string_view uncompressed(std::string_view path) {
    return endsInOneOf(path, {".gz", ".zst"}) ? path.substr(0, path.rfind('.')) : path;
}

}  // namespace

std::string formatOfName(std::string_view path) {
    if (endsInOneOf(path, {".parquet", ".pq", ".parq"})) {
        return "parquet";
    }
    if (endsInOneOf(path, {".arrow", ".arrows", ".feather", ".ipc"})) {
        return "arrow";
    }
    return endsInOneOf(uncompressed(path), {".csv", ".tsv", ".tab", ".txt"}) ? "csv" : "";
}

char delimiterOfName(std::string_view path) {
    return endsInOneOf(uncompressed(path), {".tsv", ".tab"}) ? '\t' : ',';
}

std::string_view csvNullsDoc() {
    static const std::string kDoc =
        strCat("values that are null in every column; default, in columns that are not text: ",
               absl::StrJoin(std::vector<std::string>(kCsvNulls.begin(), kCsvNulls.end()), ", "),
               ". An empty field is always null");
    return kDoc;
}

}  // namespace millrace::spec
