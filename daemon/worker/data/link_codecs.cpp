#include "daemon/worker/data/link_codecs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/text/text.h"

namespace millrace::data {

bool LinkCodecs::measured(frame::CodecMeasures measures, std::size_t columns) {
    const bool isRight = measures.size() == columns &&
                         std::none_of(measures.begin(), measures.end(),
                                      [](const auto& candidates) { return candidates.empty(); });
    if (isRight && wantsMeasures()) {
        measures_ = std::move(measures);
    }
    return isRight;
}

bool LinkCodecs::choose(const wire::Traffic& traffic) {
    const bool isKnown =
        traffic.bytes >= kLeastBytes || (traffic.bytes > 0 && traffic.waitNs >= kLeastNs);
    if (plan_ || measures_.empty() || !isKnown) {
        return false;
    }
    bytesPerSecond_ = static_cast<double>(traffic.bytes) * 1e9 /
                      static_cast<double>(std::max<std::int64_t>(traffic.waitNs, 1));
    plan_ = frame::cheapestOf(measures_, bytesPerSecond_);
    return true;
}

std::string LinkCodecs::text() const {
    std::map<std::string, int> counts;
    for (const frame::CodecChoice& choice : plan_.value_or(frame::CodecPlan())) {
        ++counts[choice.text()];
    }
    std::string text;
    for (const auto& [codec, count] : counts) {
        strAppend(&text, text.empty() ? "" : ", ", codec, " ", count);
    }
    return text;
}

}  // namespace millrace::data
