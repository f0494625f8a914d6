#include "backend/stream/state/step_mark.h"

#include <cstring>

#include "backend/stream/state/segment_record.h"

namespace millrace::stream {
namespace {

constexpr std::size_t kMarkWords = kStepMarkBytes / 8;
constexpr std::uint64_t kIsLast = 1, kIsLeftOut = 2;

/// Indices of a mark's words; the last five words are reserved and 0.
enum MarkWord : std::size_t {
    kBatches,
    kRows,
    kFlags,
    kHashLow,
    kHashHigh,
    kRowsDelivered,
    kOwnBatches,
    kOwnRows,
    kOwnHashLow,
    kOwnHashHigh,
    kRowsLeftOut
};

}  // namespace

bool StepMark::isSameStep(const StepMark& other) const {
    StepMark same = other;
    same.own = own;
    return same == *this;
}

std::array<std::byte, kStepMarkBytes> markBytes(const StepMark& mark) {
    std::array<std::uint64_t, kMarkWords> words{};
    words[kBatches] = static_cast<std::uint64_t>(mark.batches);
    words[kRows] = static_cast<std::uint64_t>(mark.rows);
    words[kFlags] = (mark.isLast ? kIsLast : 0) | (mark.isLeftOut ? kIsLeftOut : 0);
    words[kHashLow] = mark.orderHash.sum().low;
    words[kHashHigh] = mark.orderHash.sum().high;
    words[kRowsDelivered] = static_cast<std::uint64_t>(mark.rowsDelivered);
    words[kRowsLeftOut] = static_cast<std::uint64_t>(mark.rowsLeftOut);
    words[kOwnBatches] = static_cast<std::uint64_t>(mark.own.batches);
    words[kOwnRows] = static_cast<std::uint64_t>(mark.own.rows);
    words[kOwnHashLow] = mark.own.hash.low;
    words[kOwnHashHigh] = mark.own.hash.high;
    std::array<std::byte, kStepMarkBytes> bytes;
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

const char* readMark(const unsigned char* bytes, std::uint64_t size, StepMark& mark) {
    std::array<std::uint64_t, kMarkWords> words;
    if (size != sizeof words) {
        return "a step's mark is cut off or too long";
    }
    std::memcpy(words.data(), bytes, sizeof words);
    for (const MarkWord count :
         {kBatches, kRows, kRowsDelivered, kOwnBatches, kOwnRows, kRowsLeftOut}) {
        if (words[count] > static_cast<std::uint64_t>(kMaxCount)) {
            return "a step's mark holds an impossible count";
        }
    }
    mark.batches = static_cast<std::int64_t>(words[kBatches]);
    mark.rows = static_cast<std::int64_t>(words[kRows]);
    mark.isLast = (words[kFlags] & kIsLast) != 0;
    mark.isLeftOut = (words[kFlags] & kIsLeftOut) != 0;
    mark.orderHash = OrderHash(Sum128{words[kHashLow], words[kHashHigh]});
    mark.rowsDelivered = static_cast<std::int64_t>(words[kRowsDelivered]);
    mark.rowsLeftOut = static_cast<std::int64_t>(words[kRowsLeftOut]);
    mark.own = {static_cast<std::int64_t>(words[kOwnBatches]),
                static_cast<std::int64_t>(words[kOwnRows]),
                Sum128{words[kOwnHashLow], words[kOwnHashHigh]}};
    return nullptr;
}

}  // namespace millrace::stream
