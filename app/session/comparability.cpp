#include "app/session/comparability.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "app/session/pairs.h"
#include "app/session/seed_noise.h"
#include "backend/core/status.h"

namespace millrace::session {
namespace {

// Empty where the params of a side are unknown.
std::set<std::string> keysThatDiffer(const Params& run, const Params& first) {
    std::set<std::string> keys;
    if (run.empty() || first.empty()) {
        return keys;
    }
    const auto addFrom = [&keys](const Params& from, const Params& other) {
        for (const auto& [key, value] : from) {
            const auto found = other.find(key);
            if (found == other.end() || found->second != value) {
                keys.insert(key);
            }
        }
    };
    addFrom(run, first);
    addFrom(first, run);
    keys.erase("name");
    keys.erase("variation");
    return keys;
}

// A weight changes how much a row counts, not what the label means.
bool isOfLabel(const std::string& key) {
    return key.starts_with("labels.") && !key.ends_with(".weight");
}

// A run without a dataset learns no label that Millrace knows.
bool hasLabel(const Params& params) {
    return std::ranges::any_of(params, [](const auto& param) { return isOfLabel(param.first); });
}

std::string withVerb(const std::vector<std::string>& ids, const char* one, const char* several) {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        strAppend(&text, i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ", ids[i]);
    }
    return text + (ids.size() == 1 ? one : several);
}

}  // namespace

bool hasOtherLabels(const Params& run, const Params& first) {
    const std::set<std::string> keys = keysThatDiffer(run, first);
    return hasLabel(run) && hasLabel(first) && std::any_of(keys.begin(), keys.end(), isOfLabel);
}

bool differsInSeedOnly(const Params& run, const Params& first) {
    return keysThatDiffer(run, first) == std::set<std::string>{"batch.seed"};
}

bool isOfOneSide(const Params& run, const Params& first) {
    return !run.empty() && !first.empty() &&
           (keysThatDiffer(run, first).empty() || differsInSeedOnly(run, first));
}

std::vector<std::string> remarksOn(const std::vector<const values::RunDetail*>& runs,
                                   const values::PairReply& pairs) {
    if (runs.size() < 2) {
        return {};
    }
    const values::RunDetail& first = *runs.front();
    std::vector<std::string> remarks, otherLabels, otherSeeds;
    for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
        if (hasOtherLabels((*run)->params, first.params)) {
            otherLabels.push_back((*run)->summary.id);
        }
        const values::RunPair* pair = findPair(pairs, (*run)->summary.id);
        const bool areFilesOther = pair != nullptr && !pair->files.empty();
        if (differsInSeedOnly((*run)->params, first.params) && !areFilesOther) {
            otherSeeds.push_back((*run)->summary.id);
        }
        if (areFilesOther) {
            for (const std::string& sentence :
                 fileSentences(*pair, first.summary, (*run)->summary)) {
                remarks.push_back(strCat("Other files: ", sentence, "."));
            }
        }
    }
    if (!otherLabels.empty()) {
        remarks.push_back(strCat("Other label: ", withVerb(otherLabels, " learns", " learn"),
                                 " another label than ", first.summary.id, "."));
    }
    if (!otherSeeds.empty()) {
        remarks.push_back(strCat("Other seed: ", withVerb(otherSeeds, " differs", " differ"),
                                 " from ", first.summary.id, " in batch.seed only."));
    }
    const bool hasSeed = !first.summary.dataset.empty();
    if (hasSeed) {
        std::ranges::move(seedRemarks(runs, pairs), std::back_inserter(remarks));
    }
    return remarks;
}

}  // namespace millrace::session
