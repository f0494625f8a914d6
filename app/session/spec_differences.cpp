#include "app/session/spec_differences.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "app/session/figures.h"
#include "backend/core/status.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

std::optional<std::vector<std::string>> itemsOf(const std::string& text) {
    if (text == "-") {
        return std::vector<std::string>();
    }
    const Result<Json> json = text.starts_with('[') ? parseJson(text, "list") : Json();
    if (!json.ok() || !json->is_array()) {
        return std::nullopt;
    }
    std::vector<std::string> items;
    for (const Json& item : *json) {
        items.push_back(item.is_string() ? item.get<std::string>() : dumpJson(item));
    }
    return items;
}

// The multiset difference: items of `from`, each as many times as `without` lacks it.
std::vector<std::string> less(std::vector<std::string> from, std::vector<std::string> without) {
    std::vector<std::string> rest;
    for (std::string& item : from) {
        const auto same = std::ranges::find(without, item);
        if (same == without.end()) {
            rest.push_back(std::move(item));
        } else {
            without.erase(same);
        }
    }
    return rest;
}

using ByKey = std::map<std::string, std::vector<std::string>>;

// "on", "off" or "-" (it has no such step) in each run, for steps that some runs switch off, by
// path: "recipe.spam". The recipe of the evaluation lacks steps that are off.
ByKey switchedSteps(const std::vector<Difference>& all) {
    constexpr std::string_view kEval = "eval.", kEnabled = ".enabled", kKind = ".kind";
    ByKey steps;
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        if (key.starts_with("recipe.") && key.ends_with(kEnabled)) {
            auto& states = steps[key.substr(0, key.size() - kEnabled.size())];
            for (const std::string& value : difference.values) {
                states.push_back(value == "true" ? "on" : value == "false" ? "off" : "-");
            }
        }
    }
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        const std::string step = key.substr(0, key.size() - std::min(key.size(), kKind.size()));
        const auto ofTraining = steps.find(step.substr(std::min(step.size(), kEval.size())));
        if (key.starts_with("eval.recipe.") && key.ends_with(kKind) && ofTraining != steps.end()) {
            steps[step] = ofTraining->second;
        }
    }
    return steps;
}

}  // namespace

std::vector<Difference> differencesOf(const std::vector<const values::RunDetail*>& runs) {
    std::set<std::string> keys;
    for (const values::RunDetail* run : runs) {
        for (const auto& [key, value] : run->params) {
            keys.insert(key);
        }
    }
    std::vector<Difference> all;
    for (const std::string& key : keys) {
        Difference difference{key, {}};
        for (const values::RunDetail* run : runs) {
            const auto found = run->params.find(key);
            difference.values.push_back(found == run->params.end() ? "-" : found->second);
        }
        const bool isSame = std::ranges::all_of(
            difference.values, [&](const auto& v) { return v == difference.values[0]; });
        if (!isSame && key != "variation" && key != "name") {
            all.push_back(std::move(difference));
        }
    }
    return all;
}

std::optional<std::string> hashKeyOfCount(std::string_view key) {
    constexpr std::string_view kTables = "embeddings.", kHash = ".vocabulary.hash", kRows = ".rows";
    for (const std::string_view end : {kHash, kRows}) {
        if (key.starts_with(kTables) && key.ends_with(end)) {
            return strCat(key.substr(0, key.size() - end.size()), kHash);
        }
    }
    return std::nullopt;
}

std::vector<Difference> withoutFollowing(std::vector<Difference> all) {
    std::set<std::string> counted;  // hash keys that all runs have
    for (const Difference& difference : all) {
        if (hashKeyOfCount(difference.key) == difference.key &&
            std::ranges::none_of(difference.values, [](const auto& v) { return v == "-"; })) {
            counted.insert(difference.key);
        }
    }
    std::vector<Difference> rest;
    for (const Difference& difference : all) {
        const std::optional<std::string> hashKey = hashKeyOfCount(difference.key);
        if (!hashKey || (*hashKey != difference.key && !counted.contains(*hashKey))) {
            rest.push_back(difference);
        }
    }
    return rest.empty() ? std::move(all) : rest;
}

std::vector<Difference> withStepsAsLines(std::vector<Difference> all) {
    ByKey steps = switchedSteps(all);
    std::erase_if(steps, [](const auto& step) {  // others were added: their keys are of interest
        return std::ranges::find(step.second, "off") == step.second.end();
    });
    for (const auto& [step, states] : steps) {
        std::erase_if(all, [&](const Difference& difference) {
            std::set<std::string> valuesThatRun;
            for (std::size_t i = 0; i < states.size(); ++i) {
                if (states[i] == "on") {
                    valuesThatRun.insert(difference.values[i]);
                }
            }
            return difference.key.starts_with(step + ".") && valuesThatRun.size() < 2;
        });
        const auto at = std::ranges::lower_bound(all, step, {}, &Difference::key);
        all.insert(at, Difference{step, states});
    }
    return all;
}

std::optional<std::string> listChange(const std::string& before, const std::string& after) {
    const auto was = itemsOf(before), is = itemsOf(after);
    if (!was || !is || (before == "-" && after == "-")) {
        return std::nullopt;
    }
    std::string text;
    for (const std::string& item : less(*is, *was)) {
        strAppend(&text, text.empty() ? "+" : " +", item);
    }
    for (const std::string& item : less(*was, *is)) {
        strAppend(&text, text.empty() ? "-" : " -", item);
    }
    return text.empty() && before != after ? "other order" : text;
}

std::string besideBase(const Difference& difference, std::size_t run, std::size_t base) {
    const std::string &before = difference.values[base], &value = difference.values[run];
    const auto change = run == base || before == value ? std::nullopt : listChange(before, value);
    if (change) {
        return *change;
    }
    const auto items = itemsOf(value);
    const bool isList = value != "-" && items.has_value();
    return isList ? countText(static_cast<std::int64_t>(items->size()), "item") : value;
}

}  // namespace millrace::session
