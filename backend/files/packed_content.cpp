#include "backend/files/packed_content.h"

#include <algorithm>

namespace millrace::files {
namespace {

struct Content {
    std::string_view start, what;
};

using std::string_view_literals::operator""sv;

constexpr std::string_view kPickle =
    "a Python pickle; load it in Python and write it with to_parquet";

// The starts are those of each format's own specification.
constexpr Content kContents[] = {
    {"PK\x03\x04"sv, "a ZIP archive; unzip it, or compress its content with gzip"},
    {"SQLite format 3\0"sv,
     "a SQLite database; write its table in Python with pandas.read_sql('select * from NAME', "
     "sqlite3.connect('FILE.db')).to_parquet('FILE.parquet')"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file; decompress it with unxz"},
    {"\x04\x22\x4d\x18"sv, "an lz4 file; decompress it with unlz4"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive; unpack it with 7z x"},
    {"PAR1\x15"sv, "a Parquet file; dataset.format: parquet (--format parquet) reads it"},
    {"ARROW1\0\0"sv, "an Arrow IPC file; dataset.format: arrow (--format arrow) reads it"},
    {"\x93NUMPY"sv, "a NumPy array; load it in Python and write a table of it with to_parquet"},
    {"\x80\x02"sv, kPickle},
    {"\x80\x03"sv, kPickle},
    {"\x80\x04\x95"sv, kPickle},
    {"\x80\x05\x95"sv, kPickle},
};

constexpr std::string_view kOrc =
    "an ORC file; convert it in Python with "
    "pandas.read_orc('FILE.orc').to_parquet('FILE.parquet')";
constexpr std::string_view kWorkbook =
    "an Excel workbook; convert it in Python with "
    "pandas.read_excel('FILE.xlsx').to_parquet('FILE.parquet'), or export a sheet as CSV";

// A ZIP archive whose first member is one of an Office document.
bool isWorkbook(std::string_view start) {
    constexpr std::size_t kName = 30;  // bytes of a member's header before its name
    if (!start.starts_with("PK\x03\x04") || start.size() <= kName) {
        return false;
    }
    const std::string_view name = start.substr(kName);
    return name.starts_with("[Content_Types].xml") || name.starts_with("docProps/") ||
           name.starts_with("_rels/") || name.starts_with("xl/");
}

// Text may begin with ORC, but has no such bytes.
bool isOrc(std::string_view start) {
    return start.starts_with("ORC") &&
           std::ranges::any_of(start, [](char c) { return c >= 0 && c < '\t'; });
}

}  // namespace

std::string_view packedContent(std::string_view start) {
    // Text may begin with BZh; the number behind it (pi) begins a block.
    if (start.starts_with("BZh") && start.size() > 4 && start.substr(4).starts_with("1AY&SY")) {
        return "a bzip2 file; decompress it with bunzip2";
    }
    if (isJson(start)) {
        return jsonContent(start);
    }
    if (isWorkbook(start) || isOrc(start)) {
        return isOrc(start) ? kOrc : kWorkbook;
    }
    for (const Content& content : kContents) {
        if (start.starts_with(content.start)) {
            return content.what;
        }
    }
    return "";
}

std::string_view jsonContent(std::string_view start) {
    const std::size_t first = start.find_first_of("[{");
    if (start.find(":{\"0\":") != start.npos) {
        return "JSON by columns, which is not read; convert it to Parquet in Python with "
               "pandas.read_json('FILE.json').to_parquet('FILE.parquet')";
    }
    return first != start.npos && start[first] == '['
               ? "a list in JSON, which is not read; convert it to Parquet with duckdb -c \"copy "
                 "(from 'FILE.json') to 'FILE.parquet'\", or in Python with "
                 "pandas.read_json('FILE.json').to_parquet('FILE.parquet')"
               : "JSON, which is not read; convert it to Parquet with duckdb -c \"copy (from "
                 "'FILE.jsonl') to 'FILE.parquet'\", or in Python with "
                 "pandas.read_json('FILE.jsonl', lines=True).to_parquet('FILE.parquet')";
}

bool isJson(std::string_view start) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const auto skip = [&start](std::string_view characters) {
        start.remove_prefix(std::min(start.find_first_not_of(characters), start.size()));
    };
    start.remove_prefix(start.starts_with("\xef\xbb\xbf") ? 3 : 0);
    skip(kBlanks);
    if (start.starts_with('[')) {
        start.remove_prefix(1);
        skip(kBlanks);
    }
    if (!start.starts_with('{')) {
        return false;
    }
    start.remove_prefix(1);
    skip(kBlanks);
    return start.starts_with('"');
}

bool isGzip(std::string_view start) {
    return start.starts_with("\x1f\x8b");
}

bool isZstd(std::string_view start) {
    return start.starts_with("\x28\xb5\x2f\xfd");
}

}  // namespace millrace::files
