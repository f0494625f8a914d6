// libFuzzer target: the content of a scores file. A file that is read without an error must be
// consistent and must pair with itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backend/scores/pairing.h"
#include "backend/scores/score_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace millrace::scores;
    const auto read = parseScores("input", {reinterpret_cast<const char*>(data), size});
    if (!read.ok()) {
        return 0;
    }
    for (const HeadScores& head : read->heads) {
        if (head.scores.size() != read->keys.size() || head.labels.size() != read->keys.size()) {
            std::abort();
        }
    }
    if (pairScores(*read, *read).rows != static_cast<std::int64_t>(read->keys.size())) {
        std::abort();
    }
    return 0;
}
