#include "backend/eval/text_search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include <immintrin.h>

#include <arrow/array/array_binary.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/memory_pool.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::eval {
namespace {

/// Finds positions where the part's first and last byte match, and compares the rest only there.
__attribute__((target("avx2"))) std::size_t findAvx2(std::string_view text, std::string_view part) {
    const std::size_t last = part.size() - 1;
    const std::size_t inner = last > 1 ? last - 1 : 0;
    const __m256i firsts = _mm256_set1_epi8(part.front());
    const __m256i lasts = _mm256_set1_epi8(part.back());
    constexpr std::size_t kWidth = sizeof(__m256i);
    std::size_t at = 0;
    for (; at + last + kWidth <= text.size(); at += kWidth) {
        const char* const here = text.data() + at;
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here + last));
        auto places = static_cast<std::uint32_t>(_mm256_movemask_epi8(
            _mm256_and_si256(_mm256_cmpeq_epi8(a, firsts), _mm256_cmpeq_epi8(b, lasts))));
        for (; places != 0; places &= places - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(places));
            if (std::memcmp(here + i + 1, part.data() + 1, inner) == 0) {
                return at + i;
            }
        }
    }
    const std::size_t rest = text.substr(at).find(part);
    return rest == std::string_view::npos ? rest : at + rest;
}

/// The rows of an array of texts.
struct TextRows {
    const std::int32_t* ends;  ///< row i ends where row i + 1 begins: ends[i] to ends[i + 1]
    const char* bytes;
    std::int64_t count;

    std::size_t begin(std::int64_t i) const { return static_cast<std::size_t>(ends[i]); }
    std::string_view operator[](std::int64_t i) const {
        return {bytes + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])};
    }
};

void markAnywhere(Isa isa, const TextRows& rows, std::string_view part, std::uint8_t* bits) {
    const std::size_t end = rows.begin(rows.count);
    std::size_t at = rows.begin(0);
    for (std::int64_t row = 0; row < rows.count;) {
        const std::size_t hit = findText(isa, {rows.bytes + at, end - at}, part);
        if (hit == std::string_view::npos) {
            return;
        }
        at += hit;
        while (rows.begin(row + 1) <= at) {
            ++row;
        }
        const std::size_t rowEnd = rows.begin(row + 1);
        if (at + part.size() <= rowEnd) {
            arrow::bit_util::SetBit(bits, row);
            at = rowEnd;
            ++row;
        } else {
            ++at;  // the hit spans two rows
        }
    }
}

template <class Match>
void markRows(const TextRows& rows, std::uint8_t* bits, Match match) {
    for (std::int64_t row = 0; row < rows.count; row += 8) {
        const std::int64_t n = std::min<std::int64_t>(rows.count - row, 8);
        unsigned byte = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            byte |= (match(rows[row + k]) ? 1U : 0U) << k;
        }
        bits[row / 8] = static_cast<std::uint8_t>(byte);
    }
}

void mark(Isa isa, const TextRows& rows, PartPlace place, std::string_view part,
          std::uint8_t* bits) {
    switch (place) {
        case PartPlace::kAnywhere:
            if (part.empty()) {
                return markRows(rows, bits, [](std::string_view) { return true; });
            }
            return markAnywhere(isa, rows, part, bits);
        case PartPlace::kBegin:
            return markRows(rows, bits, [=](std::string_view t) { return t.starts_with(part); });
        case PartPlace::kEnd:
            return markRows(rows, bits, [=](std::string_view t) { return t.ends_with(part); });
        case PartPlace::kWhole:
            return markRows(rows, bits, [=](std::string_view t) { return t == part; });
    }
}

struct PlacedPart {
    PartPlace place;
    std::string_view part;
};

/// The text that the pattern matches, if it has only % and only at its ends. A match of the whole
/// text must be ASCII: Arrow's rules for invalid UTF-8 are not repeated here.
std::optional<PlacedPart> placedPart(std::string_view pattern) {
    const std::size_t begin = std::min(pattern.find_first_not_of('%'), pattern.size());
    const std::size_t end = std::max(pattern.find_last_not_of('%') + 1, begin);
    const std::string_view part = pattern.substr(begin, end - begin);
    if (part.find_first_of("%_\\") != std::string_view::npos) {
        return std::nullopt;
    }
    const bool isOpen = begin > 0, isOpenEnd = end < pattern.size() || (isOpen && part.empty());
    if (isOpen || isOpenEnd) {
        const PartPlace place = isOpen && isOpenEnd ? PartPlace::kAnywhere
                                : isOpen            ? PartPlace::kEnd
                                                    : PartPlace::kBegin;
        return PlacedPart{place, part};
    }
    const bool isAscii = std::ranges::all_of(part, [](char c) { return (c & 0x80) == 0; });
    return isAscii ? std::optional(PlacedPart{PartPlace::kWhole, part}) : std::nullopt;
}

}  // namespace

std::size_t findText(Isa isa, std::string_view text, std::string_view part) {
    if (isa == Isa::kAvx2 && !part.empty()) {
        return findAvx2(text, part);
    }
    return text.find(part);
}

Result<Datum> matchTexts(Isa isa, const arrow::Array& texts, PartPlace place,
                         std::string_view part) {
    const std::int64_t n = texts.length();
    const auto& strings = static_cast<const arrow::StringArray&>(texts);
    arrow::Result<std::shared_ptr<arrow::Buffer>> bits =
        arrow::AllocateEmptyBitmap(n, evaluationPool());
    RETURN_IF_ERROR(arrays::fromArrow(bits.status(), "texts"));
    if (n > 0) {
        const auto* const bytes = reinterpret_cast<const char*>(strings.raw_data());
        const TextRows rows{strings.raw_value_offsets(), bytes == nullptr ? "" : bytes, n};
        mark(isa, rows, place, part, (*bits)->mutable_data());
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (texts.null_count() > 0) {
        arrow::Result<std::shared_ptr<arrow::Buffer>> copy = arrow::internal::CopyBitmap(
            evaluationPool(), texts.null_bitmap_data(), texts.offset(), n);
        RETURN_IF_ERROR(arrays::fromArrow(copy.status(), "texts"));
        validity = *std::move(copy);
    }
    return Datum(
        arrow::ArrayData::Make(arrow::boolean(), n, {std::move(validity), *std::move(bits)}));
}

Result<Datum> likeTexts(const Datum& texts, const std::string& pattern) {
    const std::optional<PlacedPart> placed = placedPart(pattern);
    if (placed && texts.is_array() && texts.type()->id() == arrow::Type::STRING) {
        return matchTexts(machineIsa(), *texts.make_array(), placed->place, placed->part);
    }
    const arrow::compute::MatchSubstringOptions options(pattern);
    return callKernel("match_like", {texts}, &options);
}

}  // namespace millrace::eval
