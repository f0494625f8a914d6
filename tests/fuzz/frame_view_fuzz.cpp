// libFuzzer target: frames from other processes. It tries the input as it is, then with a valid
// envelope (magic, sizes, checksum), so that the checks of the directory run too. It reads every
// value of a frame that passes the full check.
#include <cstdlib>
#include <cstring>
#include <span>

#include "backend/frame/frame.h"

using millrace::frame::CheckLevel;
using millrace::frame::FrameHeader;
using millrace::frame::FrameView;

namespace {

std::uint64_t g_sum = 0;  ///< keeps the reads from being optimised away

void readByteRange(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) {
        g_sum += static_cast<std::uint64_t>(b);
    }
}

void readColumn(const FrameView& view, std::size_t c) {
    const auto& entry = view.entry(c);
    readByteRange(std::as_bytes(std::span(view.name(c))));
    readByteRange(view.bytes().subspan(entry.data.offset, entry.data.bytes));
    readByteRange(std::as_bytes(view.weights(c)));
    const auto offsets = view.offsets(c);
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        const auto size = static_cast<std::size_t>(offsets[i] - offsets[i - 1]);
        readByteRange(view.bytes().subspan(
            entry.data.offset + static_cast<std::size_t>(offsets[i - 1]) * sizeOf(entry.dtype),
            size * sizeOf(entry.dtype)));
    }
    for (std::uint32_t row = 0; row < view.rows(); ++row) {
        if (view.itemOf(c, row) >= entry.items) {
            std::abort();
        }
    }
}

void readFrame(std::span<const std::byte> bytes) {
    millrace::frame::checkFrame(bytes.data(), bytes.size(), CheckLevel::kDirectory);
    const auto view = FrameView::open(bytes);
    if (view.ok() && std::uint64_t{view->rows()} * view->numColumns() <= 1U << 16) {
        for (std::size_t c = 0; c < view->numColumns(); ++c) {
            readColumn(*view, c);
        }
    }
}

void mendEnvelope(std::span<std::byte> bytes) {
    FrameHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.magic = millrace::frame::kFrameMagic;
    header.version = millrace::frame::kFrameVersion;
    header.headerBytes = sizeof header;
    header.totalBytes = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = millrace::frame::frameChecksum(bytes.data(), bytes.size());
    std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    void* memory = nullptr;
    if (size == 0 || posix_memalign(&memory, millrace::frame::kPayloadAlignment, size) != 0) {
        return 0;
    }
    std::memcpy(memory, data, size);
    const std::span<std::byte> bytes(static_cast<std::byte*>(memory), size);
    readFrame(bytes);
    if (size >= sizeof(FrameHeader)) {
        mendEnvelope(bytes);
        readFrame(bytes);
    }
    std::free(memory);
    return 0;
}
