#include "backend/stream/state/record_bytes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

/// The bytes by docs/formats/frame.md, made without the writer's code.
class Bytes {
 public:
    Bytes(std::uint64_t numSteps, std::uint64_t numCounts) {
        words({3, 40, 5, 7, 1000, 100, 500, numSteps, numCounts, 0, 0, 0});
    }
    Bytes& words(const std::vector<std::uint64_t>& values) {
        for (const std::uint64_t value : values) {
            add(&value, 8);
        }
        return *this;
    }
    Bytes& count(std::uint64_t value, const std::string& name) {
        const auto nameBytes = static_cast<std::uint32_t>(name.size());
        add(&value, 8);
        add(&nameBytes, 4);
        add(name.data(), name.size());
        while (bytes_.size() % 8 != 0) {
            bytes_.push_back(0);
        }
        return *this;
    }
    const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
    void add(const void* from, std::size_t size) {
        const auto* first = static_cast<const unsigned char*>(from);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    std::vector<unsigned char> bytes_;
};

/// Reads a copy without bytes behind it, so that a sanitizer sees a read of one byte too many.
const char* readBytes(const std::vector<unsigned char>& bytes, std::size_t size,
                      SegmentRecord& record) {
    const auto copy = std::make_unique<unsigned char[]>(size);
    std::memcpy(copy.get(), bytes.data(), size);
    return readRecord(copy.get(), size, record);
}
const char* readBytes(const std::vector<unsigned char>& bytes) {
    SegmentRecord record;
    return readBytes(bytes, bytes.size(), record);
}

constexpr std::size_t kReservedAt = 72;

Bytes someBytes() {
    Bytes bytes(2, 3);
    bytes.words({900, 800, 800, 500}).count(0, "ids/x");
    return bytes.count(kMaxCount, std::string(kMaxCountNameBytes, 'n')).count(100, "step/0/false");
}

TEST(RecordBytes, IsReadAsTheFormatSays) {
    const std::vector<unsigned char> bytes = someBytes().bytes();
    SegmentRecord record;
    ASSERT_EQ(readBytes(bytes, bytes.size(), record), nullptr);
    EXPECT_EQ(record.segment, 3);
    EXPECT_EQ(record.first, 40);
    EXPECT_EQ(record.count, 5);
    EXPECT_EQ(record.tailRows, 7);
    EXPECT_EQ(record.sums.segments, 1);
    EXPECT_EQ(record.sums.rowsScanned, 1000);
    EXPECT_EQ(record.sums.rowsPruned, 100);
    EXPECT_EQ(record.sums.rowsKept, 500);
    EXPECT_EQ(record.sums.steps, (std::vector<StepRows>{{900, 800}, {800, 500}}));
    const std::string longest(kMaxCountNameBytes, 'n');
    EXPECT_EQ(record.sums.counts, (std::map<std::string, std::int64_t>{
                                      {"step/0/false", 100}, {"ids/x", 0}, {longest, kMaxCount}}));
}

TEST(RecordBytes, CutOffAtAnyByteOrLongerIsRefused) {
    std::vector<unsigned char> bytes = someBytes().bytes();
    SegmentRecord record;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const char* wrong = readBytes(bytes, size, record);
        ASSERT_NE(wrong, nullptr) << size << " of " << bytes.size();
        EXPECT_STREQ(wrong, "a segment's record is cut off") << size;
    }
    bytes.resize(bytes.size() + 8);
    EXPECT_STREQ(readBytes(bytes), "a segment's record is longer than it says");
}

TEST(RecordBytes, LengthsAndNumbersThatLieAreRefused) {
    const auto at = [](std::size_t place, std::uint32_t value) {
        std::vector<unsigned char> bytes = Bytes(0, 1).count(1, "name").bytes();
        std::memcpy(bytes.data() + place, &value, 4);
        return bytes;
    };
    constexpr std::size_t kSteps = 56, kCounts = 64, kNameBytes = 104;
    EXPECT_EQ(readBytes(at(kNameBytes, 4)), nullptr);
    for (const std::uint32_t length : {0U, 256U, 0x7fffffffU, 0xffffffffU}) {
        EXPECT_STREQ(readBytes(at(kNameBytes, length)),
                     "a segment's record has a count without a name, or with one that is too long");
    }
    EXPECT_STREQ(readBytes(at(kNameBytes, 5)), "a segment's record is cut off");
    for (const auto& [place, most] :
         {std::pair(kSteps, kMaxRecordSteps), {kCounts, kMaxRecordCounts}}) {
        for (const std::uint32_t number : {static_cast<std::uint32_t>(most) + 1, 0xffffffffU}) {
            EXPECT_STREQ(readBytes(at(place, number)),
                         "a segment's record has too many steps or counts");
        }
    }
    EXPECT_STREQ(readBytes(at(kCounts, 2)), "a segment's record is cut off");
    EXPECT_STREQ(readBytes(at(kCounts, 0)), "a segment's record is longer than it says");
    EXPECT_STREQ(readBytes(Bytes(0, 2).count(1, "name").count(2, "name").bytes()),
                 "a segment's record has two counts of one name");
}

TEST(RecordBytes, CountsThatNoSumCouldHoldAreRefused) {
    for (const std::size_t at : {0U, 24U, 32U, 48U, 96U, 104U}) {
        std::vector<unsigned char> bytes = Bytes(1, 0).words({5, 5}).bytes();
        const std::uint64_t value = std::uint64_t{1} << 62;
        std::memcpy(bytes.data() + at, &value, 8);
        EXPECT_STREQ(readBytes(bytes), "a segment's record holds an impossible count") << at;
    }
}

TEST(RecordBytes, DamagedBytesAreReadOrRefused) {
    const std::vector<unsigned char> bytes = someBytes().bytes();
    std::mt19937_64 random(11);
    for (int i = 0; i < 20'000; ++i) {
        std::vector<unsigned char> damaged = bytes;
        for (std::size_t k = random() % 4 + 1; k > 0; --k) {
            damaged[random() % damaged.size()] = static_cast<unsigned char>(random());
        }
        SegmentRecord record;
        readBytes(damaged, random() % (damaged.size() + 1), record);
        EXPECT_LE(record.sums.counts.size(), kMaxRecordCounts);
        for (const auto& [name, value] : record.sums.counts) {
            EXPECT_TRUE(value >= 0) << name;
        }
    }
}

TEST(RecordBytes, AreWrittenAsTheyAreRead) {
    const std::vector<unsigned char> bytes = someBytes().bytes();
    SegmentRecord record;
    ASSERT_EQ(readBytes(bytes, bytes.size(), record), nullptr);
    const std::vector<std::byte> written = recordBytes(record);
    const auto* first = reinterpret_cast<const unsigned char*>(written.data());
    EXPECT_EQ(std::vector<unsigned char>(first, first + written.size()), bytes);
}

TEST(RecordBytes, WordsOfALaterVersionAreNotRead) {
    std::vector<unsigned char> bytes = someBytes().bytes();
    SegmentRecord record, later;
    ASSERT_EQ(readBytes(bytes, bytes.size(), record), nullptr);
    std::fill(bytes.begin() + kReservedAt, bytes.begin() + kReservedAt + 24, 0xff);
    ASSERT_EQ(readBytes(bytes, bytes.size(), later), nullptr);
    EXPECT_EQ(later, record);
}

TEST(RecordBytes, WhatNoReaderTakesIsRefusedBeforeItIsWritten) {
    SegmentRecord record;
    for (std::size_t i = 0; i < kMaxRecordCounts; ++i) {
        record.sums.counts["ids/" + std::to_string(i)] = 1;
    }
    record.sums.steps.resize(kMaxRecordSteps);
    EXPECT_EQ(checkRecord(record), nullptr);
    SegmentRecord more = record;
    more.sums.counts["one more"] = 1;
    EXPECT_STREQ(checkRecord(more), "a segment's record has too many steps or counts");
    more = record;
    more.sums.steps.emplace_back();
    EXPECT_STREQ(checkRecord(more), "a segment's record has too many steps or counts");
    for (const std::string& name : {std::string(), std::string(kMaxCountNameBytes + 1, 'n')}) {
        record.sums.counts = {{name, 1}};
        EXPECT_STREQ(checkRecord(record),
                     "a segment's record has a count without a name, or with "
                     "one that is too long");
    }
}

}  // namespace
}  // namespace millrace::stream
