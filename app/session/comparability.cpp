#include "app/session/comparability.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "app/session/figures.h"
#include "app/session/pairs.h"
#include "app/session/spec_differences.h"
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
    if (keys.contains("batch.seed")) {  // it chooses the rows whose values are counted
        std::erase_if(keys, [&](const std::string& key) {
            const auto hash = hashKeyOfCount(key);
            return hash && run.contains(*hash) && first.contains(*hash);
        });
    }
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

namespace {

constexpr std::size_t kRunsNamed = 4;

using Runs = std::vector<const values::RunDetail*>;

// A seed that runs twice gives the same figures, so each side has one run for each seed.
std::vector<Runs> sidesOf(const Runs& runs, const values::PairReply& pairs) {
    std::vector<Runs> sides;
    for (const values::RunDetail* run : runs) {
        const values::RunPair* pair = findPair(pairs, run->summary.id);
        if (run->params.empty() || (pair != nullptr && !pair->files.empty())) {
            continue;
        }
        const auto side = std::ranges::find_if(sides, [run](const Runs& known) {
            return isOfOneSide(run->params, known.front()->params);
        });
        if (side == sides.end()) {
            sides.push_back({run});
        } else if (std::ranges::all_of(*side, [run](const values::RunDetail* known) {
                       return differsInSeedOnly(run->params, known->params);
                   })) {
            side->push_back(run);
        }
    }
    return sides;
}

std::string named(const std::vector<std::string>& ids) {
    std::string text;
    const std::size_t shown = ids.size() > kRunsNamed ? kRunsNamed - 1 : ids.size();
    for (std::size_t i = 0; i < shown; ++i) {
        strAppend(&text, i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ", ids[i]);
    }
    return shown == ids.size() ? text : strCat(text, " and ", ids.size() - shown, " more");
}

// The noise of one head. `losses`: by run, minus that of the first run.
SeedNoise noiseOf(const std::string& head, const std::vector<Runs>& all,
                  const std::map<std::string, double>& losses) {
    SeedNoise noise{head, 0, {}};
    double squares = 0, freedom = 0, meanOfFirst = 0;
    for (const Runs& runs : all) {
        SeedSide side;
        double sum = 0;
        for (const values::RunDetail* run : runs) {
            const auto loss = losses.find(run->summary.id);
            if (loss != losses.end()) {
                side.runs.push_back(run->summary.id);
                sum += loss->second;
            }
        }
        if (side.runs.empty()) {
            continue;
        }
        const auto count = static_cast<double>(side.runs.size());
        for (const std::string& run : side.runs) {
            squares += std::pow(losses.at(run) - sum / count, 2);
        }
        freedom += count - 1;
        meanOfFirst = noise.sides.empty() ? sum / count : meanOfFirst;
        side.difference = sum / count - meanOfFirst;
        noise.sides.push_back(std::move(side));
    }
    noise.deviation = freedom > 0 ? std::sqrt(squares / freedom) : std::nan("");
    for (std::size_t s = 1; s < noise.sides.size(); ++s) {
        const auto one = static_cast<double>(noise.sides.front().runs.size());
        const auto other = static_cast<double>(noise.sides[s].runs.size());
        noise.sides[s].standardError = noise.deviation * std::sqrt(1 / one + 1 / other);
    }
    return noise;
}

std::vector<std::string> seedSentences(const SeedNoise& noise) {
    std::size_t runs = 0, sides = 0;
    for (const SeedSide& side : noise.sides) {
        runs += side.runs.size() > 1 ? side.runs.size() : 0;
        sides += side.runs.size() > 1 ? 1 : 0;
    }
    std::vector<std::string> sentences = {strCat(
        "Seed noise of ", noise.head, ": the log loss of runs that differ in batch.seed only ",
        "has a standard deviation of ", numberText(noise.deviation), " (", runs, " runs",
        sides > 1 ? strCat(" on ", sides, " sides") : "", ").")};
    for (std::size_t s = 1; s < noise.sides.size(); ++s) {
        const SeedSide& side = noise.sides[s];
        sentences.push_back(strCat(
            "Mean of ", named(side.runs), " against ",
            noise.sides.front().runs.size() > 1 ? "that of " : "", named(noise.sides.front().runs),
            ": log loss of ", noise.head, " ", lossDifferenceText(side.difference),
            ", with a standard error of ", numberText(side.standardError), "."));
    }
    return sentences;
}

}  // namespace

std::vector<SeedNoise> seedNoiseOf(const std::vector<const values::RunDetail*>& runs,
                                   const values::PairReply& pairs) {
    if (runs.empty() || runs.front()->params.empty()) {
        return {};
    }
    std::map<std::string, std::map<std::string, double>> losses;  // by head, then by run
    for (const values::RunPair& pair : pairs.pairs) {
        for (const values::PairedHead& head : pair.heads) {
            if (head.rows > 0 && std::isfinite(head.logLossDifference)) {
                losses[head.name][pair.run] = head.logLossDifference;
                losses[head.name][runs.front()->summary.id] = 0;
            }
        }
    }
    const std::vector<Runs> sides = sidesOf(runs, pairs);
    std::vector<SeedNoise> all;
    for (const auto& [head, ofRuns] : losses) {
        SeedNoise noise = noiseOf(head, sides, ofRuns);
        if (!std::isnan(noise.deviation)) {
            all.push_back(std::move(noise));
        }
    }
    return all;
}

std::vector<std::string> seedRemarks(const std::vector<const values::RunDetail*>& runs,
                                     const values::PairReply& pairs) {
    std::vector<std::string> remarks;
    for (const SeedNoise& noise : seedNoiseOf(runs, pairs)) {
        std::ranges::move(seedSentences(noise), std::back_inserter(remarks));
    }
    if (remarks.empty()) {
        const std::vector<Runs> sides = sidesOf(runs, pairs);
        const bool isOneEach =
            std::ranges::all_of(sides, [](const Runs& side) { return side.size() == 1; });
        remarks.push_back(strCat("Seed noise unknown: ",
                                 isOneEach ? "one run a side"
                                           : "runs that differ in batch.seed only have no scores "
                                             "of the same rows",
                                 "; another batch.seed moves these figures too."));
    }
    return remarks;
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
