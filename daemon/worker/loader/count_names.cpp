#include "daemon/worker/loader/count_names.h"

#include <algorithm>
#include <set>

#include "backend/core/log.h"
#include "backend/core/text.h"

namespace millrace::loader {

CountNames::CountNames(const std::vector<std::vector<std::string>>& stepReasons,
                       const std::vector<std::string>& vocabularies) {
    addSteps(stepReasons);
    addVocabularies(vocabularies);
    if (numLeftOut_ > 0) {
        logWarn("feed: counts that no receipt will have",
                {{"number", numLeftOut_}, {"room", ring::kMaxRecordCounts}});
    }
}

void CountNames::addSteps(const std::vector<std::vector<std::string>>& stepReasons) {
    for (std::size_t s = 0; s < stepReasons.size(); ++s) {
        std::vector<std::string>& names = reasons_.emplace_back();
        for (const std::string& reason : stepReasons[s]) {
            std::string name = strCat("step/", s, "/", reason);
            const bool isKept = s < ring::kMaxRecordSteps && hasRoomFor(1) &&
                                name.size() <= ring::kMaxCountNameBytes;
            numNames_ += isKept ? 1 : 0;
            numLeftOut_ += isKept ? 0 : 1;
            names.push_back(isKept ? std::move(name) : "");
        }
    }
}

void CountNames::addVocabularies(const std::vector<std::string>& vocabularies) {
    std::set<std::string_view> known;
    for (const std::string& feature : vocabularies) {
        std::pair<std::string, std::string> names(strCat("ids/", feature),
                                                  strCat("unknown/", feature));
        const bool isKept = known.insert(feature).second && hasRoomFor(2) &&
                            names.second.size() <= ring::kMaxCountNameBytes;
        numNames_ += isKept ? 2 : 0;
        numLeftOut_ += isKept ? 0 : 2;
        ids_.push_back(isKept ? std::move(names) : std::pair<std::string, std::string>());
    }
}

void CountNames::fill(const segment::SegmentRecord& from, ring::SegmentRecord& record) const {
    const auto add = [&record](const std::string& name, std::int64_t value) {
        if (!name.empty()) {
            record.counts.push_back({name, static_cast<std::uint64_t>(value)});
        }
    };
    for (std::size_t s = 0; s < std::min(reasons_.size(), from.steps.size()); ++s) {
        for (std::size_t r = 0; r < reasons_[s].size(); ++r) {
            if (from.steps[s].reasons[r] != 0) {
                add(reasons_[s][r], from.steps[s].reasons[r]);
            }
        }
    }
    for (std::size_t v = 0; v < ids_.size(); ++v) {
        const recipe::IdCount count =
            v < from.vocabularies.size() ? from.vocabularies[v] : recipe::IdCount{};
        add(ids_[v].first, count.ids);
        add(ids_[v].second, count.unknown);
    }
}

}  // namespace millrace::loader
