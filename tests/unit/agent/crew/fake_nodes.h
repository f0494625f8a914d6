#pragma once
// Nodes that follow the test.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

class FakeNodes final : public Nodes {
 public:
    FakeNodes() { come("", 64); }
    std::string ownName() const override { return "head"; }
    std::vector<NodeStatus> standings() const override {
        ++numLooks;
        std::vector<NodeStatus> all;
        for (const auto& [name, node] : nodes) {
            if (!name.empty()) {
                all.push_back(node);
            }
        }
        return all;
    }
    NodeStatus standing(const std::string& node) const override {
        const auto found = nodes.find(node);
        return found == nodes.end() ? NodeStatus{node} : found->second;
    }
    void setUnread(bool, std::map<std::string, int>) override {}
    void keep(const std::string& node, const std::string& key, const schedule::Resources& needs,
              std::vector<std::string> workers) override {
        kept[key] = {node, needs.cpus};
        speakers[key] = std::move(workers);
    }
    void borrow(const std::string& node, const std::string& key,
                const schedule::Resources& used) override {
        borrowed[key] = {node, used.cpus};
        nodes[node].borrowed += used;
    }
    Status place(const std::string& node, const Placement& placement) override {
        placed[placement.key] = {node, placement};
        nodes[node].numPlaced += 1;
        return okStatus();
    }
    Status end(const std::string& node, const std::string& key, const EndRequest& wish) override {
        ended.push_back(strCat(key, " on ", node.empty() ? "the head's" : node));
        whyEnded = wish.why;
        if (const auto lent = borrowed.find(key); lent != borrowed.end()) {
            nodes[node].borrowed = {};
            borrowed.erase(lent);
        }
        if (isForgetful) {
            placed.erase(key);
            states.erase(key);
        }
        return okStatus();
    }
    void giveUpFiles(const std::string& node, const std::string& key) override {
        givenUp.push_back(strCat(key, " on ", node));
    }
    Result<bool> has(const std::string&, const std::string& key) override {
        return states.contains(key);
    }
    std::string words(const std::string&, const std::string&, const std::string&) override {
        return "";
    }
    std::optional<engines::State> state(const std::string&, const std::string& key) override {
        const auto found = states.find(key);
        return found == states.end() ? std::nullopt : std::optional(found->second);
    }
    std::optional<engines::State> lastWord(const std::string&,
                                           const std::string& key) const override {
        const auto found = lastWords.find(key);
        return found == lastWords.end() ? std::nullopt : std::optional(found->second);
    }
    void come(const std::string& name, double cores = 2) {
        NodeStatus& node = nodes[name];
        node.name = name;
        node.total = node.free = {cores, 0, 1'000};
        node.heardMs = 1'000;
        node.isThere = true;
        node.isLost = false;
    }

    std::map<std::string, std::vector<std::string>> speakers;  ///< by gang that must be kept
    std::map<std::string, NodeStatus> nodes;
    mutable int numLooks = 0;  ///< calls of standings()
    std::map<std::string, std::pair<std::string, double>> kept, borrowed;
    std::map<std::string, std::pair<std::string, Placement>> placed;
    std::map<std::string, engines::State> states, lastWords;
    std::vector<std::string> ended, givenUp;
    std::string whyEnded;      ///< the last one
    bool isForgetful = false;  ///< an ended gang is gone at once
};

}  // namespace millrace::agent
