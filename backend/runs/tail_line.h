#pragma once
// The values of a line in the tail as bytes: (key number, value) of 12 bytes each, by key.
//
// Pure. Bytes that are no multiple of 12 lose their end; nothing is read beyond them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::runs {

inline constexpr std::int64_t kTailValueBytes = 12;

struct TailValue {
    std::uint32_t keyNo = 0;
    double value = 0;
};

/// Of a key that stands twice the first counts.
inline std::string packTailValues(std::vector<TailValue> values) {
    const auto byKey = [](const TailValue& a, const TailValue& b) { return a.keyNo < b.keyNo; };
    std::stable_sort(values.begin(), values.end(), byKey);
    std::string bytes;
    bytes.reserve(values.size() * kTailValueBytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && values[i].keyNo == values[i - 1].keyNo) {
            continue;
        }
        char item[kTailValueBytes];
        std::memcpy(item, &values[i].keyNo, sizeof(std::uint32_t));
        std::memcpy(item + sizeof(std::uint32_t), &values[i].value, sizeof(double));
        bytes.append(item, sizeof(item));
    }
    return bytes;
}

/// A view of packed values; the bytes outlive it.
class TailValues {
 public:
    explicit TailValues(std::string_view bytes) : bytes_(bytes) {}

    std::size_t size() const { return bytes_.size() / kTailValueBytes; }
    std::uint32_t keyAt(std::size_t i) const {
        std::uint32_t key = 0;
        std::memcpy(&key, bytes_.data() + i * kTailValueBytes, sizeof(key));
        return key;
    }
    double valueAt(std::size_t i) const {
        double value = 0;
        std::memcpy(&value, bytes_.data() + i * kTailValueBytes + sizeof(std::uint32_t),
                    sizeof(value));
        return value;
    }
    /// The first place from `from` on whose key is not less than `keyNo`.
    std::size_t lowerBound(std::uint32_t keyNo, std::size_t from = 0) const {
        std::size_t count = size() - from;
        while (count > 0) {
            const std::size_t half = count / 2;
            if (keyAt(from + half) < keyNo) {
                from += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return from;
    }

 private:
    std::string_view bytes_;
};

}  // namespace millrace::runs
