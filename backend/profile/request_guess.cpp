#include "backend/profile/request_guess.h"

#include <algorithm>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/profile/sketches.h"

namespace millrace::profile {

namespace {

constexpr double kLeastConsistency = 0.999;
constexpr std::int64_t kLeastRepeats = 20;
// Among rows whose value is not the one of the row before: the share whose lists differ, too. Where
// nearly all lists are equal, every column would be consistent.
constexpr double kLeastDifferent = 0.01;

bool isListColumn(const arrow::Array& array) {
    return array.type_id() == arrow::Type::LIST || array.type_id() == arrow::Type::FIXED_SIZE_LIST;
}

// The bytes of elements that are adjacent in memory; nothing for types that are not compared.
std::optional<std::string_view> bytesOf(const arrow::Array& elements, std::int64_t begin,
                                        std::int64_t length) {
    const arrow::DataType& type = *elements.type();
    const auto& buffer = elements.data()->buffers[1];
    if (arrow::is_fixed_width(type.id()) && type.bit_width() % 8 == 0) {
        const std::int64_t width = type.bit_width() / 8;
        return buffer == nullptr || length == 0
                   ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(buffer->data()) +
                                          (elements.offset() + begin) * width,
                                      static_cast<std::size_t>(length * width));
    }
    if (const auto* texts = dynamic_cast<const arrow::BinaryArray*>(&elements)) {
        const std::int32_t first = length == 0 ? 0 : texts->value_offset(begin);
        const std::int32_t end = length == 0 ? 0 : texts->value_offset(begin + length);
        return end == first
                   ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(texts->raw_data()) + first,
                                      static_cast<std::size_t>(end - first));
    }
    return std::nullopt;
}

// Adds the hash of each row's list. Lists of other types change nothing.
void mixLists(const arrow::Array& array, std::vector<std::uint64_t>& hashes) {
    const auto* lists = dynamic_cast<const arrow::ListArray*>(&array);
    const auto* fixed = dynamic_cast<const arrow::FixedSizeListArray*>(&array);
    const bool isFixed = fixed != nullptr;
    const auto& elements = isFixed ? *fixed->values() : *lists->values();
    if (!bytesOf(elements, 0, 0)) {
        return;
    }
    hashes.resize(static_cast<std::size_t>(array.length()), 0);
    for (std::int64_t r = 0; r < array.length(); ++r) {
        std::uint64_t hash = 0;
        if (!array.IsNull(r)) {
            const std::int64_t begin = isFixed ? fixed->value_offset(r) : lists->value_offset(r);
            const std::int64_t length = isFixed ? fixed->value_length(r) : lists->value_length(r);
            hash = hashOf(*bytesOf(elements, begin, length));
        }
        auto& mixed = hashes[static_cast<std::size_t>(r)];
        mixed = hashOf(mixed * 3 + hash + 1);
    }
}

// Each row's value as a number that distinguishes values; false for types that cannot be keys.
bool keysOf(const arrow::Array& array, std::vector<std::uint64_t>& keys) {
    const auto& data = *array.data();
    const bool isNumber = arrow::is_integer(array.type_id()) ||
                          array.type_id() == arrow::Type::TIMESTAMP ||
                          array.type_id() == arrow::Type::DATE32;
    const bool isText =
        array.type_id() == arrow::Type::STRING || array.type_id() == arrow::Type::BINARY;
    if (!isNumber && !isText) {
        return false;
    }
    keys.resize(static_cast<std::size_t>(array.length()));
    const auto width =
        isNumber ? static_cast<std::size_t>(array.type()->bit_width()) / 8 : std::size_t{0};
    for (std::int64_t r = 0; r < array.length(); ++r) {
        const auto at = static_cast<std::size_t>(r);
        if (isText) {
            keys[at] = hashOf(static_cast<const arrow::BinaryArray&>(array).GetView(r));
        } else {
            const auto* bytes = reinterpret_cast<const char*>(data.buffers[1]->data()) +
                                (static_cast<std::size_t>(data.offset) + at) * width;
            keys[at] = hashOf(std::string_view(bytes, width));
        }
    }
    return true;
}

struct Score {
    std::int64_t repeats = 0, consistent = 0, adjacent = 0;
    std::int64_t distinct = 0;
    std::int64_t changes = 0, different = 0;  // rows with another value than the row before

    bool isRequest() const {
        const auto isShare = [](std::int64_t part, double least, std::int64_t of) {
            return static_cast<double>(part) >= least * static_cast<double>(of);
        };
        return repeats >= kLeastRepeats && isShare(consistent, kLeastConsistency, repeats) &&
               isShare(different, kLeastDifferent, changes);
    }
};

Score scoreOf(const arrow::Array& column, const std::vector<std::uint64_t>& keys,
              const std::vector<std::uint64_t>& lists) {
    std::unordered_map<std::uint64_t, std::uint64_t> first;
    Score score;
    for (std::int64_t r = 0; r < column.length(); ++r) {
        const auto at = static_cast<std::size_t>(r);
        if (column.IsNull(r)) {
            continue;
        }
        if (!lists.empty() && r > 0 && keys[at] != keys[at - 1]) {
            ++score.changes;
            score.different += lists[at] != lists[at - 1] ? 1 : 0;
        }
        const auto [found, isNew] = first.emplace(keys[at], lists.empty() ? 0 : lists[at]);
        if (isNew) {
            ++score.distinct;
            continue;
        }
        ++score.repeats;
        score.consistent += lists.empty() || found->second == lists[at] ? 1 : 0;
        score.adjacent += column.IsValid(r - 1) && keys[at] == keys[at - 1] ? 1 : 0;
    }
    return score;
}

}  // namespace

std::optional<RequestGuess> findRequest(const arrow::RecordBatch& rows, const std::string& given) {
    std::vector<std::uint64_t> lists;
    for (int c = 0; c < rows.num_columns(); ++c) {
        if (isListColumn(*rows.column(c))) {
            mixLists(*rows.column(c), lists);
        }
    }
    if (lists.empty() && given.empty()) {
        return std::nullopt;
    }
    std::optional<RequestGuess> best;
    std::vector<std::uint64_t> keys;
    for (int c = 0; c < rows.num_columns(); ++c) {
        const std::string& name = rows.column_name(c);
        if ((!given.empty() && name != given) || !keysOf(*rows.column(c), keys)) {
            continue;
        }
        const Score score = scoreOf(*rows.column(c), keys, lists);
        if (!given.empty() || (score.isRequest() && (!best || score.repeats > best->repeats))) {
            best = {name, score.repeats, score.adjacent,
                    static_cast<double>(score.repeats + score.distinct) /
                        static_cast<double>(std::max<std::int64_t>(1, score.distinct))};
        }
    }
    return best;
}

}  // namespace millrace::profile
