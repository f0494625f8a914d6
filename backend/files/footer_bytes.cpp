#include "backend/files/footer_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/files/packed_content.h"
#include "backend/objects/object_store.h"
#include "backend/spec/data_format.h"

namespace millrace::files {
namespace {

constexpr std::int64_t kFooterGuess = 64 * 1024, kFooterGuessOnDisk = 8 * 1024;

/// Says from its first bytes what a file is that is not of the format, and how to read it.
std::string seenIn(std::string_view path, std::string_view start, std::string_view magic) {
    const bool isNamedJson = path.find(".json") != std::string_view::npos ||
                             path.find(".ndjson") != std::string_view::npos;
    const std::string_view packed =
        isNamedJson && (isGzip(start) || isZstd(start)) ? jsonContent("") : packedContent(start);
    const std::string seen = !packed.empty() ? strCat("it is ", packed)
                             : isGzip(start) ? "it is a gzip file"
                             : isZstd(start) ? "it is a zstd file"
                                             : strCat("it does not end with ", magic);
    const bool isNamed = !spec::formatOfName(path).empty() || !packed.empty();
    return isNamed ? seen
                   : strCat(seen,
                            ", and its name does not tell its format; dataset.format: csv "
                            "(--format csv) reads it as CSV");
}

}  // namespace

Result<std::string> readFooter(const DataFile& file, const FileSource& source,
                               std::string_view kind, std::string_view magic) {
    const auto tail = static_cast<std::int64_t>(4 + magic.size());
    const auto head = static_cast<std::int64_t>(magic.size());
    if (file.bytes < head + tail) {
        return dataLoss(file.path, ": ", file.bytes, " bytes are too few for ", kind,
                        " file; it is truncated or of another format",
                        spec::formatOfName(file.path).empty() ? " (--format csv)" : "");
    }
    // One request is enough for most footers. A longer one needs a second request, which costs a
    // store's latency; for a file on disk that is cheaper than copying unneeded bytes.
    const std::int64_t guess =
        std::min(file.bytes, objects::isObjectUri(file.path) ? kFooterGuess : kFooterGuessOnDisk);
    ASSIGN_OR_RETURN(std::string end, source.readText(file.bytes - guess, guess));
    const std::string_view last =
        std::string_view(end).substr(end.size() - static_cast<std::size_t>(tail));
    if (last.substr(4) == "PARE") {
        return invalidArgument(file.path, ": encrypted Parquet files cannot be read");
    }
    if (last.substr(4) != magic) {
        ASSIGN_OR_RETURN(const std::string start,
                         source.readText(0, std::min(file.bytes, std::int64_t{kContentBytes})));
        return start.starts_with(magic) ? dataLoss(file.path, ": truncated: it begins as ", kind,
                                                   " file but does not end with ", magic)
                                        : dataLoss(file.path, ": not ", kind,
                                                   " file: ", seenIn(file.path, start, magic));
    }
    std::uint32_t length = 0;
    std::memcpy(&length, last.data(), 4);
    if (length == 0 || static_cast<std::int64_t>(length) > file.bytes - head - tail) {
        return dataLoss(file.path, ": corrupt: the footer claims ", length,
                        " bytes, but the file has ", file.bytes);
    }
    const std::int64_t whole = length + tail;
    if (whole <= guess) {
        return end.substr(static_cast<std::size_t>(guess - whole));
    }
    ASSIGN_OR_RETURN(const std::string start, source.readText(file.bytes - whole, whole - guess));
    return start + end;
}

}  // namespace millrace::files
