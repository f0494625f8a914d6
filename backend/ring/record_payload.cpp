#include "backend/ring/record_payload.h"

#include <cstring>
#include <string>
#include <utility>

#include "backend/ring/record_limits.h"
#include "backend/ring/ring_layout.h"

namespace millrace::ring {
namespace {

constexpr const char* kCutOff = "a segment's record is cut off";

/// Takes values off the front of the bytes, as long as there are enough.
class Bytes {
 public:
    Bytes(const unsigned char* at, std::uint64_t left) : at_(at), left_(left) {}

    template <class Value>
    bool take(Value& value) {
        return take(&value, sizeof value);
    }
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
    std::uint64_t left() const { return left_; }

 private:
    const unsigned char* at_;
    std::uint64_t left_;
};

const char* readCount(Bytes& bytes, StateSums& sums) {
    std::uint64_t value = 0;
    std::uint32_t nameBytes = 0;
    if (!bytes.take(value) || !bytes.take(nameBytes)) {
        return kCutOff;
    }
    if (nameBytes == 0 || nameBytes > kMaxCountNameBytes) {
        return "a segment's record has a count without a name, or with one that is too long";
    }
    std::string name(nameBytes, '\0');
    if (!bytes.take(name.data(), nameBytes) || !bytes.skip(countPadding(nameBytes))) {
        return kCutOff;
    }
    return sums.counts.emplace(std::move(name), value).second
               ? nullptr
               : "a segment's record has two counts of one name";
}

}  // namespace

const char* readSegmentPayload(const unsigned char* payload, std::uint64_t size,
                               StateRecord& record) {
    Bytes bytes(payload, size);
    SegmentPayload head;
    if (!bytes.take(head)) {
        return kCutOff;
    }
    if (head.numSteps > kMaxRecordSteps || head.numCounts > kMaxRecordCounts) {
        return "a segment's record has too many steps or counts";
    }
    record.segment = head.segment;
    record.first = head.first;
    record.count = head.count;
    record.tailRows = head.tailRows;
    record.sums = {1, head.rowsScanned, head.rowsPruned, head.rowsKept, {}};
    for (std::uint64_t i = 0; i < head.numSteps; ++i) {
        std::uint64_t rows[2];
        if (!bytes.take(rows)) {
            return kCutOff;
        }
        record.sums.steps.emplace_back(rows[0], rows[1]);
    }
    for (std::uint64_t i = 0; i < head.numCounts; ++i) {
        if (const char* wrong = readCount(bytes, record.sums)) {
            return wrong;
        }
    }
    return bytes.left() == 0 ? nullptr : "a segment's record is longer than it says";
}

}  // namespace millrace::ring
