#pragma once
// OwnNode: the head's machine as a node. It starts, ends and follows gangs through the engine in
// the daemon's process. On other nodes a Slot does this.
//
// The engine knows the gangs that an earlier daemon placed. Threads: the controller's only.
// Failure: the engine's errors.
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "daemon/agent/crew/nodes.h"
#include "daemon/agent/membership/node_table.h"

namespace millrace::agent {

struct OwnNodeOptions {
    std::string name;  ///< for display
    std::string runsDir, binDir;
    bool trains = true;              ///< false: nothing new is placed here
    std::string address, interface;  ///< as NodeStatus
};

class OwnNode {
 public:
    /// `engine` outlives it. `poke`: called after each request to the engine.
    OwnNode(OwnNodeOptions options, engines::Engine& engine, std::function<void()> poke)
        : options_(std::move(options)), engine_(engine), poke_(std::move(poke)) {}

    const std::string& name() const { return options_.name; }
    NodeStatus standing() const;
    void keep(const std::string& key, const schedule::Resources& needs) { kept_[key] = needs; }
    Status place(const Placement& placement);
    Status end(const std::string& key, const EndRequest& request);
    Result<bool> has(const std::string& key);
    std::optional<engines::State> state(const std::string& key);
    std::string words(const std::string& key, const std::string& worker);

 private:
    Status submit(const engines::Gang& gang);

    const OwnNodeOptions options_;
    engines::Engine& engine_;
    const std::function<void()> poke_;
    std::map<std::string, schedule::Resources> kept_;  ///< by gang
    std::map<std::string, engines::Gang> placed_;      ///< gangs that are to run here
};

/// All nodes of a head. Threads: the controller's only.
class AllNodes final : public Nodes {
 public:
    /// `others` outlives it.
    AllNodes(OwnNode own, NodeTable& others) : own_(std::move(own)), others_(others) {}

    std::string ownName() const override { return own_.name(); }
    std::vector<NodeStatus> standings() const override { return others_.standings(); }
    NodeStatus standing(const std::string& node) const override {
        return node.empty() ? own_.standing() : others_.standing(node);
    }
    void setUnread(bool areSomeUnread, std::map<std::string, int> attempts) override {
        others_.setUnread(areSomeUnread, std::move(attempts));
    }
    void keep(const std::string& node, const std::string& key, const schedule::Resources& needs,
              std::vector<std::string> workers) override {
        node.empty() ? own_.keep(key, needs) : others_.keep(node, key, needs, std::move(workers));
    }
    /// No effect for the head's machine: no gang borrows there.
    void borrow(const std::string& node, const std::string& key,
                const schedule::Resources& used) override {
        node.empty() ? void() : others_.borrow(node, key, used);
    }
    Status place(const std::string& node, const Placement& placement) override;
    Status end(const std::string& node, const std::string& key, const EndRequest& request) override;
    /// No effect for the head's machine: its checkpoints need no transfer.
    void giveUpFiles(const std::string& node, const std::string& key) override {
        node.empty() ? void() : others_.giveUpFiles(node, key);
    }
    Result<bool> has(const std::string& node, const std::string& key) override {
        return node.empty() ? own_.has(key) : others_.has(node, key);
    }
    std::optional<engines::State> state(const std::string& node, const std::string& key) override {
        return node.empty() ? own_.state(key) : others_.state(node, key);
    }
    std::optional<engines::State> lastWord(const std::string& node,
                                           const std::string& key) const override {
        return node.empty() ? std::nullopt : others_.lastWord(node, key);
    }
    std::string words(const std::string& node, const std::string& key,
                      const std::string& worker) override {
        return node.empty() ? own_.words(key, worker) : "";
    }

 private:
    OwnNode own_;
    NodeTable& others_;
};

}  // namespace millrace::agent
