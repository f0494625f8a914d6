#include "backend/spec/data_format.h"

#include <algorithm>
#include <initializer_list>

namespace millrace::spec {
namespace {

bool endsInOneOf(std::string_view path, std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [path](std::string_view ending) { return path.ends_with(ending); });
}

}  // namespace

std::string formatOfName(std::string_view path) {
    if (endsInOneOf(path, {".parquet", ".pq", ".parq"})) {
        return "parquet";
    }
    if (endsInOneOf(path, {".arrow", ".arrows", ".feather", ".ipc"})) {
        return "arrow";
    }
    if (endsInOneOf(path, {".gz", ".zst"})) {
        path = path.substr(0, path.rfind('.'));
    }
    return endsInOneOf(path, {".csv", ".tsv", ".txt"}) ? "csv" : "";
}

}  // namespace millrace::spec
