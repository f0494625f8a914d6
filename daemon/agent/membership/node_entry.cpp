#include "daemon/agent/membership/node_entry.h"

#include <algorithm>

namespace millrace::agent {
namespace {

bool isPart(const std::string& key) {
    return PartName::parse(key).has_value();
}

}  // namespace

// Drops states that no run needs, except ended parts that the node must still be told to release.
void NodeEntry::take(std::map<std::string, engines::State> said) {
    for (auto& [key, state] : said) {
        for (engines::WorkerState& worker : state.workers) {
            worker.node = info.name;
        }
        const bool isToBeReleased = isPart(key) && !told.contains(key);
        if (isLiving(state) || isWanted(key) || isToBeReleased) {
            gangs[key] = std::move(state);
        } else {
            gangs.erase(key);
            if (ended.erase(key) > 0) {
                remember(key, std::move(state));
            }
        }
    }
}

bool NodeEntry::unplace(const std::string& key, const EndRequest& request) {
    kept.erase(key);
    borrowed.erase(key);
    const bool wasPlaced = placed.erase(key) > 0;
    const auto gang = gangs.find(key);
    const bool isKnown = gang != gangs.end();
    const bool isOver = isKnown && !isLiving(gang->second);
    if (isOver) {
        remember(key, std::move(gang->second));
        gangs.erase(gang);
    }
    // A part's files wait for this order, even if its node has not attached yet.
    const bool isAwaited = isPart(key) && (isOver || session == nullptr);
    const bool isHad = !isOver && (isKnown || wasPlaced);
    const bool isNew = (isAwaited || isHad) && ended.emplace(key, request).second;
    if (isNew) {
        told.insert(key);
    }
    if (isOver && session != nullptr) {
        ended.erase(key);  // its agent no longer reports it
    }
    dropWorkers();
    return isNew;
}

void NodeEntry::remember(const std::string& key, engines::State state) {
    if (!isPart(key)) {
        return;
    }
    lastWords.emplace_back(key, std::move(state));
    if (lastWords.size() > kLastWordsMost) {
        lastWords.pop_front();
    }
}

void NodeEntry::dropWorkers() {
    std::erase_if(givenUp, [this](const std::string& key) { return !ended.contains(key); });
    std::erase_if(workers, [this](const auto& gang) {
        return !placed.contains(gang.first) && !ended.contains(gang.first);
    });
}

std::optional<engines::State> NodeEntry::state(const std::string& key) const {
    if (const auto gang = gangs.find(key); gang != gangs.end()) {
        return gang->second;
    }
    if (session == nullptr || !ended.contains(key)) {
        return std::nullopt;
    }
    // The order to end it was sent after the order to place it; its end has not been reported yet.
    engines::State onItsWay;
    onItsWay.phase = engines::Phase::kStopping;
    return onItsWay;
}

std::optional<engines::State> NodeEntry::lastWord(const std::string& key) const {
    const auto found = std::find_if(lastWords.begin(), lastWords.end(),
                                    [&](const auto& word) { return word.first == key; });
    return found == lastWords.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace millrace::agent
