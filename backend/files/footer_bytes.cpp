#include "backend/files/footer_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/objects/object_store.h"

namespace millrace::files {
namespace {

constexpr std::int64_t kFooterGuess = 64 * 1024, kFooterGuessOnDisk = 8 * 1024;

}  // namespace

Result<std::string> readFooter(const DataFile& file, const FileSource& source,
                               std::string_view kind, std::string_view magic) {
    const auto tail = static_cast<std::int64_t>(4 + magic.size());
    const auto head = static_cast<std::int64_t>(magic.size());
    if (file.bytes < head + tail) {
        return dataLoss(file.path, ": ", file.bytes, " bytes are too few for ", kind,
                        " file; it is truncated or of another format");
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
        ASSIGN_OR_RETURN(const std::string start, source.readText(0, head));
        return start == magic
                   ? dataLoss(file.path, ": truncated: it begins as ", kind,
                              " file but does not end "
                              "with ",
                              magic)
                   : dataLoss(file.path, ": not ", kind, " file: it does not end with ", magic);
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
