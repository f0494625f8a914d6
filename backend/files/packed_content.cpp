#include "backend/files/packed_content.h"

namespace millrace::files {
namespace {

struct Content {
    std::string_view start, what;
};

using std::string_view_literals::operator""sv;

// The starts are those of each format's own specification.
constexpr Content kContents[] = {
    {"PK\x03\x04"sv, "a ZIP archive; unzip it, or compress its content with gzip"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file; decompress it with unxz"},
    {"\x04\x22\x4d\x18"sv, "an lz4 file; decompress it with unlz4"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive; unpack it with 7z x"},
    {"PAR1\x15"sv, "a Parquet file; dataset.format: parquet (--format parquet) reads it"},
    {"ARROW1\0\0"sv, "an Arrow IPC file; dataset.format: arrow (--format arrow) reads it"},
};

}  // namespace

std::string_view packedContent(std::string_view start) {
    // Text may begin with BZh; the number behind it (pi) begins a block.
    if (start.starts_with("BZh") && start.size() > 4 && start.substr(4).starts_with("1AY&SY")) {
        return "a bzip2 file; decompress it with bunzip2";
    }
    for (const Content& content : kContents) {
        if (start.starts_with(content.start)) {
            return content.what;
        }
    }
    return "";
}

bool isGzip(std::string_view start) {
    return start.starts_with("\x1f\x8b");
}

bool isZstd(std::string_view start) {
    return start.starts_with("\x28\xb5\x2f\xfd");
}

}  // namespace millrace::files
