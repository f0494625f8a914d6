#include "backend/recipe/value_counter.h"

#include <algorithm>
#include <functional>

#include <arrow/array/array_binary.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/value_reader.h"
#include "backend/text/text.h"

namespace millrace::recipe {
namespace {

using arrays::fromArrow;

/// Memory of a value apart from text that std::string keeps on the heap: nodes, buckets, growing
/// vectors, and its entry while values are sorted.
constexpr std::int64_t kEntryBytes = 112;
constexpr std::int64_t kShortText = 15;
constexpr std::int64_t kStepBytes = 32 << 10;  ///< bytes that a shard reserves at a time
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

/// Bytes that sort like the integers.
std::string bytesOf(std::uint64_t value) {
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(value >> (56 - 8 * i));
    }
    return bytes;
}

std::uint64_t integerOf(const std::string& bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) {
        value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
}

}  // namespace

Status ValueCounter::grow(Shard& shard, std::int64_t bytes) {
    shard.bytes += bytes;
    if (shard.bytes <= shard.reservation.bytes()) {
        return okStatus();
    }
    const std::int64_t wanted = shard.bytes + kStepBytes;
    shard.reservation.release();
    auto taken = budget_.reserve(wanted, name_);
    if (!taken.ok()) {
        return invalidArgument(
            "embeddings.", name_, ".vocabulary: more than ", formatCount(numValues_.load()),
            " distinct values do not fit into the ",
            formatBytes(static_cast<double>(budget_.limitBytes())),
            " that resources.memory_limit_mb leaves for counting; raise it, or give rows instead "
            "of the vocabulary, which hashes the values");
    }
    shard.reservation = std::move(*taken);
    return okStatus();
}

Result<std::int64_t> ValueCounter::numberOf(std::string_view bytes) {
    const std::string value(bytes);
    const std::size_t at = std::hash<std::string>{}(value) >> 32 & (kShards - 1);
    Shard& shard = shards_[at];
    MutexLock lock(shard.mutex);
    auto place = shard.places.find(value);
    if (place == shard.places.end()) {
        const auto size = static_cast<std::int64_t>(value.size());
        RETURN_IF_ERROR(grow(shard, kEntryBytes + (size > kShortText ? size : 0)));
        place = shard.places.emplace(value, shard.counts.size()).first;
        shard.counts.push_back(0);
        shard.values.push_back(&place->first);
        ++numValues_;
    }
    return static_cast<std::int64_t>(1 + place->second * kShards + at);
}

Result<eval::ArrayPtr> ValueCounter::number(const eval::ArrayPtr& values) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(values->length()), 0);
    const auto* texts = values->type_id() == arrow::Type::STRING
                            ? static_cast<const arrow::StringArray*>(values.get())
                            : nullptr;
    ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*values));
    const std::uint64_t flip = type_ == "int64" ? kSignBit : 0;
    for (std::int64_t i = 0; i < values->length(); ++i) {
        if (reader.isNull(i)) {
            continue;
        }
        ASSIGN_OR_RETURN(
            numbers[static_cast<std::size_t>(i)],
            texts != nullptr
                ? numberOf(texts->GetView(i))
                : numberOf(bytesOf(static_cast<std::uint64_t>(reader.integer(i)) ^ flip)));
    }
    return eval::indexArray(numbers, false);
}

void ValueCounter::add(std::span<const std::int64_t> numbers) {
    for (const std::int64_t number : numbers) {
        if (number > 0) {
            const auto index = static_cast<std::size_t>(number - 1);
            Shard& shard = shards_[index % kShards];
            MutexLock lock(shard.mutex);
            ++shard.counts[index / kShards];
        }
    }
}

Result<CountedValues> ValueCounter::take(std::int64_t minCount, std::int64_t most) {
    std::vector<Counted> counted;
    for (Shard& shard : shards_) {
        MutexLock lock(shard.mutex);
        for (std::size_t i = 0; i < shard.counts.size(); ++i) {
            if (shard.counts[i] >= std::max<std::int64_t>(minCount, 1)) {
                counted.push_back({shard.values[i], shard.counts[i]});
            }
        }
    }
    std::ranges::sort(counted, [](const Counted& a, const Counted& b) {
        return a.count != b.count ? a.count > b.count : *a.value < *b.value;
    });
    const std::size_t kept =
        most > 0 ? std::min(counted.size(), static_cast<std::size_t>(most)) : counted.size();
    return valuesOf({counted.data(), kept});
}

Result<CountedValues> ValueCounter::valuesOf(std::span<const Counted> counted) const {
    const std::string what = strCat("embeddings.", name_, ".vocabulary");
    arrow::Int64Builder counts, integers;
    arrow::UInt64Builder naturals;
    arrow::StringBuilder texts;
    for (const Counted& one : counted) {
        RETURN_IF_ERROR(fromArrow(counts.Append(one.count), what));
        const std::uint64_t number = type_ == "string" ? 0 : integerOf(*one.value);
        RETURN_IF_ERROR(fromArrow(
            type_ == "string"   ? texts.Append(*one.value)
            : type_ == "uint64" ? naturals.Append(number)
                                : integers.Append(static_cast<std::int64_t>(number ^ kSignBit)),
            what));
    }
    CountedValues made;
    ASSIGN_OR_RETURN(made.counts, fromArrow(counts.Finish(), what));
    ASSIGN_OR_RETURN(made.values, fromArrow(type_ == "string"   ? texts.Finish()
                                            : type_ == "uint64" ? naturals.Finish()
                                                                : integers.Finish(),
                                            what));
    return made;
}

}  // namespace millrace::recipe
