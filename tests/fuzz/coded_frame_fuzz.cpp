// A coded frame from the network: decoding any input must end with a frame or an error.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "backend/frame/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace millrace::frame;
    const auto* bytesOfInput = reinterpret_cast<const std::byte*>(data);
    std::vector<std::byte> coded(bytesOfInput, bytesOfInput + size);
    if (size >= sizeof(CodedHeader)) {
        // A valid checksum, so that the checks behind it run too.
        std::memset(coded.data() + offsetof(CodedHeader, checksum), 0, 8);
        const std::uint64_t checksum = XXH3_64bits(coded.data(), coded.size());
        std::memcpy(coded.data() + offsetof(CodedHeader, checksum), &checksum, 8);
    }
    const auto bytes = FrameDecoder::frameBytes(coded, 1 << 20);
    if (!bytes.ok()) {
        return 0;
    }
    FrameBuffer memory(*bytes);
    static FrameDecoder decoder;
    if (decoder.decode(coded, memory.bytes()).ok() && !FrameView::open(memory.bytes()).ok()) {
        __builtin_trap();
    }
    return 0;
}
