#include "daemon/worker/data/codec_messages.h"

namespace millrace::data {

void toMessage(const frame::CodecPlan& plan, v1::Codecs& out) {
    for (const frame::CodecChoice& choice : plan) {
        out.add_columns(choice.text());
    }
}

Result<frame::CodecPlan> codecsOf(const v1::Codecs& message, std::size_t columns) {
    frame::CodecPlan plan;
    for (const std::string& text : message.columns()) {
        const Result<frame::CodecChoice> choice = frame::CodecChoice::parse(text);
        if (!choice.ok()) {
            return dataLoss("the feed's codecs: ", messageOf(choice.status()));
        }
        plan.push_back(*choice);
    }
    if (!plan.empty() && plan.size() != columns) {
        return dataLoss("the feed's codecs: ", plan.size(), " for ", columns, " columns");
    }
    return plan;
}

void toMessage(const frame::CodecMeasures& measures, v1::WorkerReport& out) {
    for (const std::vector<frame::CodecMeasure>& candidates : measures) {
        v1::ColumnMeasures& column = *out.add_measures();
        for (const frame::CodecMeasure& measure : candidates) {
            v1::CodecMeasure& one = *column.add_candidates();
            one.set_codec(measure.choice.text());
            one.set_bytes(measure.bytes);
            one.set_coded_bytes(measure.codedBytes);
            one.set_encode_ns(measure.encodeNs);
            one.set_decode_ns(measure.decodeNs);
        }
    }
}

Result<frame::CodecMeasures> measuresOf(const v1::WorkerReport& message) {
    frame::CodecMeasures measures;
    for (const v1::ColumnMeasures& column : message.measures()) {
        std::vector<frame::CodecMeasure>& candidates = measures.emplace_back();
        for (const v1::CodecMeasure& one : column.candidates()) {
            const Result<frame::CodecChoice> choice = frame::CodecChoice::parse(one.codec());
            if (!choice.ok()) {
                return dataLoss("measures of codecs: ", messageOf(choice.status()));
            }
            candidates.push_back(
                {*choice, one.bytes(), one.coded_bytes(), one.encode_ns(), one.decode_ns()});
        }
    }
    return measures;
}

}  // namespace millrace::data
