#include "daemon/worker/data/messages.h"

#include <limits>

namespace millrace::data {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

void toMessage(const segment::FrameReport& facts, v1::FrameReport& out) {
    out.set_bytes(facts.bytes);
    out.set_coded_bytes(facts.codedBytes);
    out.set_row_ids_low(facts.rowIds.low);
    out.set_row_ids_high(facts.rowIds.high);
    out.set_requests(static_cast<std::uint32_t>(facts.requests));
    out.set_user_rows(static_cast<std::uint32_t>(facts.userRows));
}

segment::FrameReport frameFactsOf(const v1::FrameReport& message) {
    segment::FrameReport facts;
    facts.bytes = message.bytes();
    facts.codedBytes = message.coded_bytes();
    facts.rowIds = {message.row_ids_low(), message.row_ids_high()};
    facts.requests = message.requests();
    facts.userRows = message.user_rows();
    return facts;
}

void toMessage(const segment::SegmentReport& facts, v1::SegmentReport& out) {
    out.set_rows_scanned(static_cast<std::uint64_t>(facts.counts.rowsScanned));
    out.set_rows_pruned(static_cast<std::uint64_t>(facts.counts.rowsPruned));
    out.set_rows_kept(static_cast<std::uint64_t>(facts.counts.rowsKept));
    for (const recipe::StepCount& step : facts.counts.steps) {
        v1::StepRows& rows = *out.add_steps();
        rows.set_in(static_cast<std::uint64_t>(step.rowsIn));
        rows.set_out(static_cast<std::uint64_t>(step.rowsOut));
        for (const std::int64_t reason : step.reasons) {
            rows.add_reasons(static_cast<std::uint64_t>(reason));
        }
    }
    for (const recipe::IdCount& count : facts.counts.vocabularies) {
        v1::VocabularyIds& ids = *out.add_vocabularies();
        ids.set_ids(static_cast<std::uint64_t>(count.ids));
        ids.set_unknown(static_cast<std::uint64_t>(count.unknown));
    }
    for (const recipe::LabelGaps& gaps : facts.counts.labels) {
        v1::LabelGaps& label = *out.add_labels();
        label.set_nulls(static_cast<std::uint64_t>(gaps.nulls));
        label.set_nans(static_cast<std::uint64_t>(gaps.nans));
    }
    for (const segment::FrameReport& frame : facts.frames) {
        toMessage(frame, *out.add_frames());
    }
    out.set_tail_rows(static_cast<std::uint32_t>(facts.tailRows));
    if (facts.tailRows > 0) {
        toMessage(facts.tail, *out.mutable_tail());
    }
    out.mutable_tail_request_keys()->Add(facts.tailRequestKeys.begin(),
                                         facts.tailRequestKeys.end());
    out.mutable_tail_user_keys()->Add(facts.tailUserKeys.begin(), facts.tailUserKeys.end());
}

/// kDataLoss for values larger than a count can be.
Status readCount(std::uint64_t value, std::int64_t& out) {
    if (value > kMost) {
        return dataLoss("a segment's facts: a count of ", value);
    }
    out = static_cast<std::int64_t>(value);
    return okStatus();
}

Result<recipe::StepCount> stepOf(const v1::StepRows& message) {
    recipe::StepCount step;
    RETURN_IF_ERROR(readCount(message.in(), step.rowsIn));
    RETURN_IF_ERROR(readCount(message.out(), step.rowsOut));
    if (message.reasons_size() != static_cast<int>(step.reasons.size())) {
        return dataLoss("a segment's facts: ", message.reasons_size(), " reasons of a step");
    }
    for (int i = 0; i < message.reasons_size(); ++i) {
        RETURN_IF_ERROR(readCount(message.reasons(i), step.reasons[static_cast<std::size_t>(i)]));
    }
    return step;
}

}  // namespace

void toMessage(const stream::SegmentOrder& order, v1::SegmentOrder& out) {
    toMessage(order, *out.mutable_name());
    out.set_last_rows(static_cast<std::uint64_t>(order.lastRows));
    out.set_decoded_bytes(static_cast<std::uint64_t>(order.decodedBytes));
    out.mutable_files()->Add(order.files.begin(), order.files.end());
}

void toMessage(const segment::SegmentDone& done, v1::SegmentDone& out) {
    toMessage(done.order, *out.mutable_name());
    out.set_is_given_up(done.isGivenUp);
    if (!done.status.ok()) {
        out.set_code(static_cast<std::uint32_t>(done.status.code()));
        out.set_error(std::string(messageOf(done.status)));
    } else if (!done.isGivenUp) {
        toMessage(done.facts, *out.mutable_facts());
    }
}

stream::SegmentOrder orderOf(const v1::SegmentOrder& message) {
    stream::SegmentOrder order = orderOf(message.name());
    order.lastRows = static_cast<std::int64_t>(message.last_rows());
    order.decodedBytes = static_cast<std::int64_t>(message.decoded_bytes());
    order.files.assign(message.files().begin(), message.files().end());
    return order;
}

Status statusOf(const v1::SegmentDone& done) {
    return done.code() == 0 ? okStatus()
                            : Status(static_cast<absl::StatusCode>(done.code()), done.error());
}

Result<segment::SegmentReport> factsOf(const v1::SegmentReport& message) {
    segment::SegmentReport facts;
    RETURN_IF_ERROR(readCount(message.rows_scanned(), facts.counts.rowsScanned));
    RETURN_IF_ERROR(readCount(message.rows_pruned(), facts.counts.rowsPruned));
    RETURN_IF_ERROR(readCount(message.rows_kept(), facts.counts.rowsKept));
    for (const v1::StepRows& rows : message.steps()) {
        ASSIGN_OR_RETURN(facts.counts.steps.emplace_back(), stepOf(rows));
    }
    for (const v1::VocabularyIds& ids : message.vocabularies()) {
        recipe::IdCount& count = facts.counts.vocabularies.emplace_back();
        RETURN_IF_ERROR(readCount(ids.ids(), count.ids));
        RETURN_IF_ERROR(readCount(ids.unknown(), count.unknown));
    }
    for (const v1::LabelGaps& label : message.labels()) {
        recipe::LabelGaps& gaps = facts.counts.labels.emplace_back();
        RETURN_IF_ERROR(readCount(label.nulls(), gaps.nulls));
        RETURN_IF_ERROR(readCount(label.nans(), gaps.nans));
    }
    for (const v1::FrameReport& frame : message.frames()) {
        facts.frames.push_back(frameFactsOf(frame));
    }
    facts.tailRows = message.tail_rows();
    if (message.has_tail()) {
        facts.tail = frameFactsOf(message.tail());
    }
    facts.tailRequestKeys.assign(message.tail_request_keys().begin(),
                                 message.tail_request_keys().end());
    facts.tailUserKeys.assign(message.tail_user_keys().begin(), message.tail_user_keys().end());
    return facts;
}

}  // namespace millrace::data
