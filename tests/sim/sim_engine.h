#pragma once
// SimEngine: the product's Engine over a simulated machine's process table. Like the embedded
// engine, it finds its gangs again after the agent or the head was killed.
//
// Threads: one.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/engines/engine.h"
#include "tests/sim/machine.h"

namespace millrace::sim {

inline constexpr int kCores = 16;  ///< of each machine

class SimEngine final : public engines::Engine {
 public:
    explicit SimEngine(Machine& machine) : machine_(machine) {}
    Status submit(const engines::Gang& gang) override;
    Result<bool> has(const std::string& key) override;
    Result<engines::State> state(const std::string& key) override;
    Result<std::vector<std::pair<std::string, engines::State>>> list() override;
    Status cancel(const std::string& key, std::chrono::milliseconds grace,
                  std::string_view why) override;
    Result<std::string> log(const std::string&, std::string_view, std::size_t) override {
        return std::string();
    }
    schedule::Resources total() const override;
    Result<std::string> gangDirectory(std::string_view key) const override;
    std::vector<std::string> recordedKeys() const override;
    Status forget(const std::string& key) override;

 private:
    engines::State told(SimGang& gang);
    void begin(SimGang& made);
    Status readable(const std::string& key) const;
    Status record(const engines::Gang& gang) const;
    Machine& machine_;
    std::set<std::string> followed_;  ///< by key; their records were read or written
};

}  // namespace millrace::sim
