#include "backend/stream/state/record_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::stream {
namespace {

constexpr const char* kCutOff = "a segment's record is cut off";
constexpr const char* kBadName =
    "a segment's record has a count without a name, or with one that is too long";
constexpr const char* kTooMany = "a segment's record has too many steps or counts";
constexpr const char* kImpossible = "a segment's record holds an impossible count";

/// Words of the head: segment, first, count, tail rows, rows scanned, pruned, kept, number of
/// steps, number of counts.
constexpr std::size_t kHeadWords = 9;
/// Behind the head, for later versions (docs/formats/ring.md): written as 0, not read.
constexpr std::size_t kReservedWords = 3;
/// Before a count's name: its value and the name's length.
constexpr std::size_t kCountHeadBytes = 12;

using HeadWord = std::int64_t SegmentRecord::*;
using SumWord = std::int64_t SegmentSums::*;
constexpr std::array<HeadWord, 4> kOwnWords = {&SegmentRecord::segment, &SegmentRecord::first,
                                               &SegmentRecord::count, &SegmentRecord::tailRows};
constexpr std::array<SumWord, 3> kSumWords = {&SegmentSums::rowsScanned, &SegmentSums::rowsPruned,
                                              &SegmentSums::rowsKept};

/// Zeros after a count's name.
std::size_t paddingOf(std::size_t nameBytes) {
    return (8 - (kCountHeadBytes + nameBytes) % 8) % 8;
}

bool isName(std::string_view name) {
    return !name.empty() && name.size() <= kMaxCountNameBytes;
}

/// Takes values off the front of the bytes while there are enough.
class RecordReader {
 public:
    RecordReader(const unsigned char* at, std::uint64_t left) : at_(at), left_(left) {}

    bool take(void* to, std::uint64_t bytes) {
        if (left_ < bytes) {
            return false;
        }
        std::memcpy(to, at_, bytes);
        return skip(bytes);
    }
    bool skip(std::uint64_t bytes) {
        if (left_ < bytes) {
            return false;
        }
        at_ += bytes;
        left_ -= bytes;
        return true;
    }
    /// Returns null or the error.
    const char* count(std::int64_t& value) {
        std::uint64_t word = 0;
        if (!take(&word, sizeof word)) {
            return kCutOff;
        }
        value = static_cast<std::int64_t>(word);
        return word <= static_cast<std::uint64_t>(kMaxCount) ? nullptr : kImpossible;
    }
    std::uint64_t left() const { return left_; }

 private:
    const unsigned char* at_;
    std::uint64_t left_;
};

const char* readStep(RecordReader& bytes, SegmentSums& sums) {
    StepRows& step = sums.steps.emplace_back();
    const char* wrong = bytes.count(step.in);
    return wrong != nullptr ? wrong : bytes.count(step.out);
}

const char* readCount(RecordReader& bytes, SegmentSums& sums) {
    std::int64_t value = 0;
    std::uint32_t nameBytes = 0;
    if (const char* wrong = bytes.count(value)) {
        return wrong;
    }
    if (!bytes.take(&nameBytes, sizeof nameBytes)) {
        return kCutOff;
    }
    if (nameBytes == 0 || nameBytes > kMaxCountNameBytes) {
        return kBadName;
    }
    std::string name(nameBytes, '\0');
    if (!bytes.take(name.data(), nameBytes) || !bytes.skip(paddingOf(nameBytes))) {
        return kCutOff;
    }
    return sums.counts.emplace(std::move(name), value).second
               ? nullptr
               : "a segment's record has two counts of one name";
}

/// Reads the nine words and the reserved ones; the last two are the lengths of the lists that
/// follow.
const char* readHead(RecordReader& bytes, SegmentRecord& record, std::int64_t& numSteps,
                     std::int64_t& numCounts) {
    for (const HeadWord word : kOwnWords) {
        if (const char* wrong = bytes.count(record.*word)) {
            return wrong;
        }
    }
    for (const SumWord word : kSumWords) {
        if (const char* wrong = bytes.count(record.sums.*word)) {
            return wrong;
        }
    }
    const char* wrong = bytes.count(numSteps);
    wrong = wrong == nullptr ? bytes.count(numCounts) : wrong;
    if (wrong != nullptr) {
        return wrong == kImpossible ? kTooMany : wrong;
    }
    const bool fits = numSteps <= static_cast<std::int64_t>(kMaxRecordSteps) &&
                      numCounts <= static_cast<std::int64_t>(kMaxRecordCounts);
    return !fits ? kTooMany : bytes.skip(kReservedWords * 8) ? nullptr : kCutOff;
}

}  // namespace

const char* checkRecord(const SegmentRecord& record) {
    if (record.sums.steps.size() > kMaxRecordSteps ||
        record.sums.counts.size() > kMaxRecordCounts) {
        return kTooMany;
    }
    const bool areNamed = std::ranges::all_of(
        record.sums.counts, [](const auto& count) { return isName(count.first); });
    return areNamed ? nullptr : kBadName;
}

std::vector<std::byte> recordBytes(const SegmentRecord& record) {
    std::vector<std::byte> bytes;
    const auto add = [&bytes](const void* from, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(from);
        bytes.insert(bytes.end(), first, first + size);
    };
    const auto word = [&add](std::int64_t value) { add(&value, sizeof value); };
    for (const HeadWord own : kOwnWords) {
        word(record.*own);
    }
    for (const SumWord sum : kSumWords) {
        word(record.sums.*sum);
    }
    word(static_cast<std::int64_t>(record.sums.steps.size()));
    word(static_cast<std::int64_t>(record.sums.counts.size()));
    bytes.resize((kHeadWords + kReservedWords) * 8);
    for (const StepRows& step : record.sums.steps) {
        word(step.in);
        word(step.out);
    }
    for (const auto& [name, value] : record.sums.counts) {
        const auto nameBytes = static_cast<std::uint32_t>(name.size());
        word(value);
        add(&nameBytes, sizeof nameBytes);
        add(name.data(), name.size());
        bytes.resize(bytes.size() + paddingOf(name.size()));
    }
    return bytes;
}

const char* readRecord(const unsigned char* from, std::uint64_t size, SegmentRecord& record) {
    RecordReader bytes(from, size);
    const std::uint32_t epoch = record.epoch;
    record = SegmentRecord{};
    record.epoch = epoch;
    record.sums.segments = 1;
    std::int64_t numSteps = 0, numCounts = 0;
    if (const char* wrong = readHead(bytes, record, numSteps, numCounts)) {
        return wrong;
    }
    for (std::int64_t i = 0; i < numSteps; ++i) {
        if (const char* wrong = readStep(bytes, record.sums)) {
            return wrong;
        }
    }
    for (std::int64_t i = 0; i < numCounts; ++i) {
        if (const char* wrong = readCount(bytes, record.sums)) {
            return wrong;
        }
    }
    return bytes.left() == 0 ? nullptr : "a segment's record is longer than it says";
}

}  // namespace millrace::stream
