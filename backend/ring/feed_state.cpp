#include "backend/ring/feed_state.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "backend/ring/record_limits.h"
#include "backend/ring/tiny_json.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kMaxKept = std::size_t{1} << 16;
constexpr std::uint64_t kMaxCount = UINT64_MAX >> 2;

std::string hex128(std::uint64_t high, std::uint64_t low) {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
}

bool isHash(std::string_view text) {
    return text.size() == 32 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::uint64_t hexWord(std::string_view text) {
    std::uint64_t word = 0;
    for (const char c : text) {
        word = word << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return word;
}

void field(std::string& out, const char* name, std::uint64_t value) {
    out += '"';
    out += name;
    out += "\":";
    out += std::to_string(value);
    out += ',';
}

template <class Pairs>
std::string pairsText(const Pairs& pairs) {
    std::string out = "[";
    for (const auto& [a, b] : pairs) {
        out += out.size() > 1 ? ",[" : "[";
        out += std::to_string(a) + "," + std::to_string(b) + "]";
    }
    return out + "]";
}

/// Calls `each(a, b)` for a list of pairs of counts; false for anything else.
template <class Each>
bool readPairs(const TinyJson& object, std::string_view name, std::size_t max, Each each) {
    const TinyJson* list = object.find(name);
    if (list == nullptr || list->kind != TinyJson::Kind::kList || list->items.size() > max) {
        return false;
    }
    for (const TinyJson& pair : list->items) {
        if (pair.items.size() != 2 || pair.items[0].kind != TinyJson::Kind::kCount ||
            pair.items[1].kind != TinyJson::Kind::kCount) {
            return false;
        }
        each(pair.items[0].count, pair.items[1].count);
    }
    return true;
}

std::string countsText(const std::map<std::string, std::uint64_t>& counts) {
    std::string out = "{";
    for (const auto& [name, value] : counts) {
        out += (out.size() > 1 ? "," : "") + quoteJson(name) + ":" + std::to_string(value);
    }
    return out + "}";
}

/// A text without counts that has segments comes from a program that knew none.
bool readCounts(const TinyJson& json, StateSums& sums) {
    const TinyJson* counts = json.find("counts");
    sums.hasCounts = counts != nullptr || sums.segments == 0;
    if (counts == nullptr) {
        return true;
    }
    if (counts->kind != TinyJson::Kind::kObject || counts->members.size() > kMaxRecordCounts) {
        return false;
    }
    for (const TinyJson::Member& member : counts->members) {
        if (member.name.empty() || member.name.size() > kMaxCountNameBytes ||
            member.value.kind != TinyJson::Kind::kCount || member.value.count > kMaxCount ||
            !sums.counts.emplace(member.name, member.value.count).second) {
            return false;
        }
    }
    return true;
}

bool readCursor(const TinyJson& cursor, FeedState& out) {
    std::uint64_t version = 0, epoch = 0;
    const bool read =
        cursor.readCount("version", version) && version == 1 && cursor.readCount("epoch", epoch) &&
        epoch <= UINT32_MAX && cursor.readCount("next", out.next) &&
        cursor.readCount("segment", out.segment) && cursor.readCount("offset", out.offset) &&
        out.offset <= out.next && cursor.readText("stream_hash", out.streamHash) &&
        cursor.readText("plan_hash", out.planHash) && isHash(out.streamHash) &&
        isHash(out.planHash) &&
        readPairs(cursor, "rest", kMaxKept * 16, [&](std::uint64_t segment, std::uint64_t rows) {
            out.rest.push_back({segment, rows});
        });
    out.epoch = static_cast<std::uint32_t>(epoch);
    return read;
}

}  // namespace

void StateSums::add(const StateSums& other) {
    segments += other.segments;
    rowsScanned += other.rowsScanned;
    rowsPruned += other.rowsPruned;
    rowsKept += other.rowsKept;
    steps.resize(std::max(steps.size(), other.steps.size()));
    for (std::size_t i = 0; i < other.steps.size(); ++i) {
        steps[i].first += other.steps[i].first;
        steps[i].second += other.steps[i].second;
    }
    hasCounts = hasCounts && other.hasCounts;
    if (!hasCounts) {
        counts.clear();
        return;
    }
    for (const auto& [name, value] : other.counts) {
        counts[name] += value;
    }
}

std::string FeedState::toText() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
    for (const StateRest& part : rest) {
        parts.emplace_back(part.segment, part.rows);
    }
    std::string out = "{";
    if (sums.hasCounts) {
        out += "\"counts\":" + countsText(sums.counts) + ",";
    }
    out += "\"cursor\":{";
    field(out, "epoch", epoch);
    field(out, "next", next);
    field(out, "offset", offset);
    out += "\"plan_hash\":\"" + planHash + "\",\"rest\":" + pairsText(parts) + ",";
    field(out, "segment", segment);
    out += "\"stream_hash\":\"" + streamHash + "\",\"version\":1},";
    out += "\"order_hash\":\"" + hex128(hashHigh, hashLow) + "\",";
    field(out, "rows_delivered", rowsDelivered);
    field(out, "rows_kept", sums.rowsKept);
    field(out, "rows_pruned", sums.rowsPruned);
    field(out, "rows_scanned", sums.rowsScanned);
    field(out, "segments", sums.segments);
    return out + "\"steps\":" + pairsText(sums.steps) + ",\"version\":1}";
}

bool FeedState::fromText(std::string_view text, FeedState& out) {
    TinyJson json;
    std::string hash;
    std::uint64_t version = 0;
    out = FeedState{};
    if (!TinyJson::parse(text, json)) {
        return false;
    }
    const TinyJson* cursor = json.find("cursor");
    const bool read = cursor != nullptr && readCursor(*cursor, out) &&
                      json.readCount("version", version) && version == 1 &&
                      json.readText("order_hash", hash) && isHash(hash) &&
                      json.readCount("rows_delivered", out.rowsDelivered) &&
                      json.readCount("rows_kept", out.sums.rowsKept) &&
                      json.readCount("rows_pruned", out.sums.rowsPruned) &&
                      json.readCount("rows_scanned", out.sums.rowsScanned) &&
                      json.readCount("segments", out.sums.segments) &&
                      readPairs(json, "steps", kMaxRecordSteps,
                                [&](std::uint64_t in, std::uint64_t rowsOut) {
                                    out.sums.steps.emplace_back(in, rowsOut);
                                }) &&
                      readCounts(json, out.sums);
    if (read) {
        out.hashHigh = hexWord(std::string_view(hash).substr(0, 16));
        out.hashLow = hexWord(std::string_view(hash).substr(16));
    }
    return read;
}

void FeedState::addHash(std::uint64_t low, std::uint64_t high) {
    hashLow += low;
    hashHigh += high + (hashLow < low ? 1 : 0);
}

bool FeedState::isSameCursor(const FeedState& other) const {
    return std::tie(streamHash, planHash, epoch, next, segment, offset, rest) ==
           std::tie(other.streamHash, other.planHash, other.epoch, other.next, other.segment,
                    other.offset, other.rest);
}

void FeedProgress::begin(FeedState start, std::uint64_t microRows) {
    *this = FeedProgress();
    base_ = std::move(start);
    microRows_ = microRows;
    nextEpoch_ = base_.epoch;
    nextSegment_ = base_.segment;
    nextFirst_ = base_.next - base_.offset;
    for (const auto& [name, value] : base_.sums.counts) {
        placeOf(name);
    }
}

/// The place of a name in names_; kMaxRecordCounts when there is no room for one more.
std::uint32_t FeedProgress::placeOf(const std::string& name) {
    const auto known = places_.find(name);
    if (known != places_.end() || names_.size() == kMaxRecordCounts) {
        return known != places_.end() ? known->second : kMaxRecordCounts;
    }
    names_.push_back(name);
    return places_.emplace(name, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
}

bool FeedProgress::keepCounts(KeptRecord& record) {
    for (const auto& [name, value] : record.sums.counts) {
        record.counts.emplace_back(placeOf(name), value);
        if (record.counts.back().first == kMaxRecordCounts) {
            return false;
        }
    }
    record.sums.counts.clear();
    return true;
}

void FeedProgress::addSums(const KeptRecord& record, StateSums& sums) const {
    sums.add(record.sums);
    for (const auto& [place, value] : record.counts) {
        if (sums.hasCounts) {
            sums.counts[names_[place]] += value;
        }
    }
}

const char* FeedProgress::addRecord(StateRecord record) {
    const auto key = std::tie(record.epoch, record.segment);
    if (key < std::tie(nextEpoch_, nextSegment_)) {
        for (const KeptRecord& known : records_) {
            if (std::tie(known.epoch, known.segment) == key) {
                const bool same = known.first == record.first && known.count == record.count &&
                                  known.tailRows == record.tailRows;
                return same ? nullptr : "a segment's record changed when it came again";
            }
        }
        return "the record of a segment that was done";
    }
    if (key != std::tie(nextEpoch_, nextSegment_) || record.first != nextFirst_ ||
        record.count > (UINT64_MAX >> 2) || record.tailRows >= microRows_) {
        return "a segment's record does not follow the one before";
    }
    KeptRecord kept{std::move(record), {}};
    if (!keepCounts(kept)) {
        return "the segments' records have too many names of counts";
    }
    ++nextSegment_;
    nextFirst_ += kept.count;
    records_.push_back(std::move(kept));
    return nullptr;
}

const char* FeedProgress::endEpoch(std::uint32_t epoch, std::uint64_t total) {
    if (const Ended* known = endedEpoch(epoch)) {
        return known->total == total ? nullptr : "an epoch's total changed when it came again";
    }
    if (epoch != nextEpoch_ || total < nextFirst_ || total > nextFirst_ + 1) {
        return "an epoch's total is not what its segments' records add up to";
    }
    ended_.push_back({epoch, total});
    expectEpoch(epoch + 1);
    return nullptr;
}

void FeedProgress::expectEpoch(std::uint32_t epoch) {
    nextEpoch_ = epoch;
    nextSegment_ = 0;
    nextFirst_ = 0;
}

void FeedProgress::addBatch(std::uint32_t epoch, std::uint64_t number, std::uint64_t hashLow,
                            std::uint64_t hashHigh, std::uint64_t rows) {
    batches_.push_back({epoch, number, hashLow, hashHigh, rows});
    if (batches_.size() > kMaxKept) {
        // Nobody asks for states: what lies far back can no longer be asked for.
        const Batch middle = batches_[kMaxKept / 2];
        FeedState ignored;
        advance(middle.epoch, middle.number, ignored);
    }
}

const FeedProgress::Ended* FeedProgress::endedEpoch(std::uint32_t epoch) const {
    for (const Ended& ended : ended_) {
        if (ended.epoch == epoch) {
            return &ended;
        }
    }
    return nullptr;
}

void FeedProgress::joinRest(std::vector<StateRest>& rest, std::uint64_t segment,
                            std::uint64_t rows) const {
    if (rows == 0) {
        return;
    }
    std::uint64_t total = rows;
    for (const StateRest& part : rest) {
        total += part.rows;
    }
    if (total < microRows_) {
        rest.push_back({segment, rows});
        return;
    }
    rest.clear();
    if (total > microRows_) {
        rest.push_back({segment, total - microRows_});
    }
}

/// Moves `at`, a place in the epoch of at.epoch, over the records of segments that lie wholly
/// before `next`. It stops before empty segments, so that the place does not depend on how many
/// records have arrived.
void FeedProgress::walk(FeedState& at, std::uint64_t next) const {
    std::uint64_t first = at.next - at.offset;
    for (const KeptRecord& record : records_) {
        if (record.epoch != at.epoch || record.segment != at.segment) {
            continue;
        }
        if (next <= first || next < first + record.count) {
            break;
        }
        first += record.count;
        ++at.segment;
        if ((record.sums.rowsKept - record.tailRows) % microRows_ != 0) {
            at.rest.clear();  // its first rows filled up the rest of an earlier partition
        }
        joinRest(at.rest, record.segment, record.tailRows);
        addSums(record, at.sums);
    }
    at.next = next;
    at.offset = next - first;
}

const char* FeedProgress::stateAt(std::uint32_t epoch, std::uint64_t next, FeedState& out) const {
    if (const Ended* ended = endedEpoch(epoch);
        ended != nullptr && ended->total == next && base_.epoch == epoch + 1 && base_.next == 0) {
        out = base_;
        return nullptr;
    }
    if (std::tie(epoch, next) < std::tie(base_.epoch, base_.next)) {
        return "a state before one that was given out, or too far back";
    }
    out = base_;
    while (out.epoch < epoch || (endedEpoch(epoch) != nullptr && out.epoch == epoch &&
                                 next == endedEpoch(epoch)->total)) {
        const Ended* ended = endedEpoch(out.epoch);
        if (ended == nullptr) {
            return "a state beyond what was delivered";
        }
        for (const KeptRecord& record : records_) {
            if (record.epoch == out.epoch) {
                addSums(record, out.sums);
            }
        }
        ++out.epoch;
        out.next = out.segment = out.offset = 0;
        out.rest.clear();
    }
    if (out.epoch == epoch) {
        if (const Ended* ended = endedEpoch(epoch); ended != nullptr && next > ended->total) {
            return "a state beyond the end of its epoch";
        }
        if (next != out.next) {
            walk(out, next);
        }
    }
    for (const Batch& batch : batches_) {
        if (std::tie(batch.epoch, batch.number) < std::tie(out.epoch, out.next)) {
            out.addHash(batch.hashLow, batch.hashHigh);
            out.rowsDelivered += batch.rows;
        }
    }
    return nullptr;
}

void FeedProgress::forgetBefore(const FeedState& state) {
    base_ = state;
    while (!batches_.empty() && std::tie(batches_.front().epoch, batches_.front().number) <
                                    std::tie(base_.epoch, base_.next)) {
        batches_.pop_front();
    }
    while (!records_.empty() && std::tie(records_.front().epoch, records_.front().segment) <
                                    std::tie(base_.epoch, base_.segment)) {
        records_.pop_front();
    }
    while (!ended_.empty() && ended_.front().epoch + 1 < base_.epoch) {
        ended_.pop_front();
    }
}

const char* FeedProgress::advance(std::uint32_t epoch, std::uint64_t next, FeedState& out) {
    if (const char* wrong = stateAt(epoch, next, out)) {
        return wrong;
    }
    forgetBefore(out);
    return nullptr;
}

FeedState FeedProgress::newest() const {
    FeedState state = base_;
    if (nextEpoch_ > base_.epoch && (batches_.empty() || batches_.back().epoch < nextEpoch_)) {
        stateAt(nextEpoch_, 0, state);
    } else if (!batches_.empty()) {
        stateAt(batches_.back().epoch, batches_.back().number + 1, state);
    }
    return state;
}

}  // namespace millrace::ring
