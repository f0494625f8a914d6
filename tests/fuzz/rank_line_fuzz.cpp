// libFuzzer target: lines of workers on the rank socket. A line that parses must be the same after
// writing and reading.
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/rank/rank_line.h"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto line = millrace::rank::parseLine(text);
    if (line.ok()) {
        const std::string written = millrace::rank::formatLine(*line);
        require(written.find('\n') == std::string::npos);
        const auto again = millrace::rank::parseLine(written);
        require(again.ok());
        require(millrace::rank::formatLine(*again) == written);
    }
    return 0;
}
