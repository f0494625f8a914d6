#include "backend/ring/record_payload.h"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backend/ring/record_limits.h"
#include "backend/ring/ring_writer.h"

namespace millrace::ring {
namespace {

/// The bytes as docs/formats/frame.md says, put together without the writer's code.
class Payload {
 public:
    Payload(std::uint64_t numSteps, std::uint64_t numCounts) {
        words({3, 40, 5, 7, 1000, 100, 500, numSteps, numCounts});
    }
    Payload& words(const std::vector<std::uint64_t>& values) {
        for (const std::uint64_t value : values) {
            add(&value, 8);
        }
        return *this;
    }
    Payload& count(std::uint64_t value, const std::string& name) {
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

/// Reads a copy with nothing behind it, so that a sanitizer sees a byte too many.
const char* readBytes(const std::vector<unsigned char>& bytes, std::size_t size,
                      StateRecord& record) {
    const auto copy = std::make_unique<unsigned char[]>(size);
    std::memcpy(copy.get(), bytes.data(), size);
    return readSegmentPayload(copy.get(), size, record);
}
const char* readBytes(const std::vector<unsigned char>& bytes) {
    StateRecord record;
    return readBytes(bytes, bytes.size(), record);
}

Payload somePayload() {
    Payload payload(2, 3);
    payload.words({900, 800, 800, 500}).count(100, "step/0/false");
    return payload.count(0, "ids/x").count(UINT64_MAX, std::string(kMaxCountNameBytes, 'n'));
}

TEST(RecordPayload, IsReadAsTheFormatSays) {
    const std::vector<unsigned char> bytes = somePayload().bytes();
    StateRecord record;
    ASSERT_EQ(readBytes(bytes, bytes.size(), record), nullptr);
    EXPECT_EQ(record.segment, 3U);
    EXPECT_EQ(record.first, 40U);
    EXPECT_EQ(record.count, 5U);
    EXPECT_EQ(record.tailRows, 7U);
    EXPECT_EQ(record.sums.segments, 1U);
    EXPECT_EQ(record.sums.rowsScanned, 1000U);
    EXPECT_EQ(record.sums.rowsPruned, 100U);
    EXPECT_EQ(record.sums.rowsKept, 500U);
    EXPECT_EQ(record.sums.steps,
              (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{900, 800}, {800, 500}}));
    const std::string longest(kMaxCountNameBytes, 'n');
    EXPECT_EQ(record.sums.counts, (std::map<std::string, std::uint64_t>{
                                      {"step/0/false", 100}, {"ids/x", 0}, {longest, UINT64_MAX}}));
}

TEST(RecordPayload, CutOffAtAnyByteOrLongerIsRefused) {
    std::vector<unsigned char> bytes = somePayload().bytes();
    StateRecord record;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const char* wrong = readBytes(bytes, size, record);
        ASSERT_NE(wrong, nullptr) << size << " of " << bytes.size();
        EXPECT_STREQ(wrong, "a segment's record is cut off") << size;
    }
    bytes.resize(bytes.size() + 8);
    EXPECT_STREQ(readBytes(bytes), "a segment's record is longer than it says");
}

TEST(RecordPayload, LengthsAndNumbersThatLieAreRefused) {
    const auto at = [](std::size_t place, std::uint32_t value) {
        std::vector<unsigned char> bytes = Payload(0, 1).count(1, "name").bytes();
        std::memcpy(bytes.data() + place, &value, 4);
        return bytes;
    };
    constexpr std::size_t kSteps = 56, kCounts = 64, kNameBytes = 80;
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
    EXPECT_STREQ(readBytes(Payload(0, 2).count(1, "name").count(2, "name").bytes()),
                 "a segment's record has two counts of one name");
}

TEST(RecordPayload, DamagedBytesAreReadOrRefused) {
    const std::vector<unsigned char> bytes = somePayload().bytes();
    std::mt19937_64 random(11);
    for (int i = 0; i < 20'000; ++i) {
        std::vector<unsigned char> damaged = bytes;
        for (std::size_t k = random() % 4 + 1; k > 0; --k) {
            damaged[random() % damaged.size()] = static_cast<unsigned char>(random());
        }
        StateRecord record;
        readBytes(damaged, random() % (damaged.size() + 1), record);
        EXPECT_LE(record.sums.counts.size(), kMaxRecordCounts);
    }
}

TEST(RecordPayload, AWriterRefusesWhatNoReaderTakes) {
    auto writer = RingWriter::open({}, [](int, std::uint64_t) { return okStatus(); });
    ASSERT_TRUE(writer.ok()) << writer.status();
    SegmentRecord record;
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= kMaxRecordCounts; ++i) {
        names.push_back(strCat("ids/", i));
    }
    for (std::size_t i = 0; i < kMaxRecordCounts; ++i) {
        record.counts.push_back({names[i], i});
    }
    EXPECT_TRUE((*writer)->segmentRecord(record, {}).ok());
    record.counts.push_back({names.back(), 1});
    EXPECT_EQ((*writer)->segmentRecord(record, {}).code(), absl::StatusCode::kInvalidArgument);
    const std::string longName(kMaxCountNameBytes + 1, 'n');
    for (const std::string_view name : {std::string_view(), std::string_view(longName)}) {
        record.counts = {{name, 1}};
        EXPECT_EQ((*writer)->segmentRecord(record, {}).code(), absl::StatusCode::kInvalidArgument);
    }
}

}  // namespace
}  // namespace millrace::ring
