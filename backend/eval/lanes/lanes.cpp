#include "backend/eval/lanes/lanes.h"

#include <cstring>

namespace millrace::eval {

Lane laneOf(const expr::DataType& type) {
    if (type.isList) {
        return Lane::kOther;
    }
    switch (type.kind) {
        case expr::TypeKind::kBool:
            return Lane::kBool;
        case expr::TypeKind::kInt8:
            return Lane::kInt8;
        case expr::TypeKind::kInt16:
            return Lane::kInt16;
        case expr::TypeKind::kInt32:
        case expr::TypeKind::kDate:
            return Lane::kInt32;
        case expr::TypeKind::kInt64:
        case expr::TypeKind::kTimestamp:
            return Lane::kInt64;
        case expr::TypeKind::kUint8:
            return Lane::kUint8;
        case expr::TypeKind::kUint16:
            return Lane::kUint16;
        case expr::TypeKind::kUint32:
            return Lane::kUint32;
        case expr::TypeKind::kUint64:
            return Lane::kUint64;
        case expr::TypeKind::kFloat:
            return Lane::kFloat;
        case expr::TypeKind::kDouble:
            return Lane::kDouble;
        default:
            return Lane::kOther;
    }
}

std::int64_t laneBytes(Lane lane) {
    const auto bytesOf = []<class T>(std::type_identity<T>) { return std::int64_t{sizeof(T)}; };
    return lane == Lane::kOther ? 0 : visitLane(lane, bytesOf);
}

Isa machineIsa() {
    static const Isa kIsa = __builtin_cpu_supports("avx2") != 0 ? Isa::kAvx2 : Isa::kPlain;
    return kIsa;
}

std::int64_t countOnes(const std::uint8_t* bytes, std::int64_t n) {
    // Up to 31 words of 0/1 bytes add up to less than 256 per byte.
    std::int64_t count = 0, i = 0;
    while (i + 8 <= n) {
        std::uint64_t sums = 0;
        for (int k = 0; k < 31 && i + 8 <= n; ++k, i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + i, 8);
            sums += word;
        }
        const std::uint64_t pairs =
            (sums & 0x00ff00ff00ff00ffULL) + ((sums >> 8) & 0x00ff00ff00ff00ffULL);
        count += static_cast<std::int64_t>((pairs * 0x0001000100010001ULL) >> 48);
    }
    for (; i < n; ++i) {
        count += bytes[i];
    }
    return count;
}

void bytesOfBits(const std::uint8_t* bits, std::int64_t offset, std::int64_t n, std::uint8_t* out) {
    std::int64_t i = 0;
    for (; i < n && (offset + i) % 8 != 0; ++i) {
        out[i] = (bits[(offset + i) / 8] >> ((offset + i) % 8)) & 1;
    }
    for (; i + 8 <= n; i += 8) {
        // Puts bit k into byte k, with value 2^k; adding 127 carries it into the highest bit.
        const std::uint64_t copies = bits[(offset + i) / 8] * 0x0101010101010101ULL;
        const std::uint64_t chosen = copies & 0x8040201008040201ULL;
        const std::uint64_t ones = ((chosen + 0x7f7f7f7f7f7f7f7fULL) >> 7) & 0x0101010101010101ULL;
        std::memcpy(out + i, &ones, 8);
    }
    for (; i < n; ++i) {
        out[i] = (bits[(offset + i) / 8] >> ((offset + i) % 8)) & 1;
    }
}

void bitsOfBytes(const std::uint8_t* bytes, std::int64_t n, std::uint8_t* out) {
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + i, 8);
        out[i / 8] = static_cast<std::uint8_t>((word * 0x0102040810204080ULL) >> 56);
    }
    if (i < n) {
        unsigned last = 0;
        for (std::int64_t k = 0; i + k < n; ++k) {
            last |= static_cast<unsigned>(bytes[i + k]) << k;
        }
        out[i / 8] = static_cast<std::uint8_t>(last);
    }
}

}  // namespace millrace::eval
