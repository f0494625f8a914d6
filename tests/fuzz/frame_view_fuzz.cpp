// libFuzzer target, not in the default build:
// clang++-19 -std=c++20 -fsanitize=fuzzer,address -I. tests/fuzz/frame_view_fuzz.cpp
//     backend/frame/format.cpp -o frame_view_fuzz
#include <cstdlib>
#include <cstring>

#include "backend/frame/format.h"

using millrace::frame::checkFrame;
using millrace::frame::CheckLevel;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    void* bytes = std::aligned_alloc(64, millrace::frame::alignUp(size + 1));
    if (bytes == nullptr) {
        return 0;
    }
    std::memcpy(bytes, data, size);
    checkFrame(bytes, size, CheckLevel::kDirectory);
    checkFrame(bytes, size, CheckLevel::kFull);
    std::free(bytes);
    return 0;
}
