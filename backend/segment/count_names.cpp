#include "backend/segment/count_names.h"

#include <algorithm>
#include <set>

#include "backend/core/log.h"

namespace millrace::segment {

CountNames::CountNames(const std::vector<std::vector<std::string>>& stepReasons,
                       const std::vector<std::string>& heads,
                       const std::vector<std::string>& vocabularies) {
    addSteps(stepReasons);
    gaps_ = pairsOf(heads, "label/null", "label/nan");
    ids_ = pairsOf(vocabularies, "ids", "unknown");
    if (numLeftOut_ > 0) {
        logWarn("loader: counts that no receipt will have",
                {{"number", numLeftOut_}, {"room", stream::kMaxRecordCounts}});
    }
}

void CountNames::addSteps(const std::vector<std::vector<std::string>>& stepReasons) {
    for (std::size_t s = 0; s < stepReasons.size(); ++s) {
        std::vector<std::string>& names = reasons_.emplace_back();
        for (const std::string& reason : stepReasons[s]) {
            std::string name = strCat("step/", s, "/", reason);
            const bool isKept = s < stream::kMaxRecordSteps && hasRoomFor(1) &&
                                name.size() <= stream::kMaxCountNameBytes;
            numNames_ += isKept ? 1 : 0;
            numLeftOut_ += isKept ? 0 : 1;
            names.push_back(isKept ? std::move(name) : "");
        }
    }
}

CountNames::Pairs CountNames::pairsOf(const std::vector<std::string>& names, std::string_view first,
                                      std::string_view second) {
    Pairs pairs;
    std::set<std::string_view> known;
    for (const std::string& name : names) {
        Pairs::value_type pair(strCat(first, "/", name), strCat(second, "/", name));
        const bool isKept =
            known.insert(name).second && hasRoomFor(2) &&
            std::max(pair.first.size(), pair.second.size()) <= stream::kMaxCountNameBytes;
        numNames_ += isKept ? 2 : 0;
        numLeftOut_ += isKept ? 0 : 2;
        pairs.push_back(isKept ? std::move(pair) : Pairs::value_type());
    }
    return pairs;
}

stream::SegmentSums CountNames::sumsOf(const RowCounts& from) const {
    stream::SegmentSums sums{1, from.rowsScanned, from.rowsPruned, from.rowsKept, {}};
    for (std::size_t s = 0; s < std::min(from.steps.size(), stream::kMaxRecordSteps); ++s) {
        sums.steps.push_back({from.steps[s].rowsIn, from.steps[s].rowsOut});
    }
    const auto add = [&sums](const std::string& name, std::int64_t value) {
        if (!name.empty()) {
            sums.addCount(name, value);
        }
    };
    const auto addSome = [&add](const std::string& name, std::int64_t value) {
        if (value != 0) {
            add(name, value);
        }
    };
    for (std::size_t s = 0; s < std::min(reasons_.size(), from.steps.size()); ++s) {
        for (std::size_t r = 0; r < reasons_[s].size(); ++r) {
            addSome(reasons_[s][r], from.steps[s].reasons[r]);
        }
    }
    for (std::size_t h = 0; h < std::min(gaps_.size(), from.labels.size()); ++h) {
        addSome(gaps_[h].first, from.labels[h].nulls);
        addSome(gaps_[h].second, from.labels[h].nans);
    }
    for (std::size_t v = 0; v < ids_.size(); ++v) {
        const recipe::IdCount count =
            v < from.vocabularies.size() ? from.vocabularies[v] : recipe::IdCount{};
        add(ids_[v].first, count.ids);
        add(ids_[v].second, count.unknown);
    }
    return sums;
}

}  // namespace millrace::segment
