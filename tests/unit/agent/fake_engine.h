#pragma once
// An engine whose gangs live and end as the test wants.
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "backend/job/attempt_paths.h"
#include "daemon/agent/run_controller.h"

namespace millrace::agent {

class FakeEngine final : public engines::Engine {
 public:
    Status submit(const engines::Gang& gang) override {
        if (!submitError.ok()) {
            return submitError;
        }
        gangs[gang.key] = gang;
        engines::State state;
        state.phase = engines::Phase::kRunning;
        for (const engines::Group& group : gang.groups) {
            for (const std::string& worker : engines::workerNames(group)) {
                engines::WorkerState one;
                one.name = worker;
                one.rank = job::rankOf(worker).value_or(-1);
                one.isCritical = group.isCritical;
                one.isStarted = true;
                one.pid = 100;
                state.workers.push_back(one);
            }
        }
        states.try_emplace(gang.key, state);
        return okStatus();
    }
    Result<bool> has(const std::string& key) override {
        return findError.ok() ? Result<bool>(states.contains(key)) : findError;
    }
    Result<engines::State> state(const std::string& key) override {
        ++numStatesAsked;
        return findError.ok() ? Result<engines::State>(states[key]) : findError;
    }
    Result<std::vector<std::pair<std::string, engines::State>>> list() override {
        std::vector<std::pair<std::string, engines::State>> all;
        for (const auto& [key, state] : states) {
            all.emplace_back(key, state);
        }
        return all;
    }
    Status cancel(const std::string& key, std::chrono::milliseconds,
                  std::string_view why) override {
        cancelled.push_back(key);
        whyCancelled = why;
        return cancelError;
    }
    Result<std::string> log(const std::string&, std::string_view worker, std::size_t) override {
        return words[std::string(worker)];
    }
    schedule::Resources total() const override { return machine; }

    Result<std::string> gangDirectory(std::string_view key) const override {
        return std::string(key);
    }
    std::vector<std::string> recordedKeys() const override {
        const auto keys = std::views::keys(states);
        return {keys.begin(), keys.end()};
    }
    Status forget(const std::string&) override { return okStatus(); }

    /// Ends all workers of a gang; rank 0 with `code`, the feed with `feedCode`.
    engines::State end(const std::string& key, int code, int feedCode = 0) {
        engines::State& state = states[key];
        state.phase = engines::Phase::kEnded;
        state.cause =
            code == 0 && feedCode == 0 ? engines::Cause::kOk : engines::Cause::kWorkerFailed;
        state.worker = code != 0 ? "rank0" : (feedCode != 0 ? "feed" : "");
        state.exitCode = code != 0 ? code : feedCode;
        for (engines::WorkerState& worker : state.workers) {
            worker.exitCode = worker.rank == 0 ? code : feedCode;
            worker.signal = *worker.exitCode > 128 ? *worker.exitCode - 128 : 0;
        }
        return state;
    }

    schedule::Resources machine{2, 0, std::uint64_t{8} << 30};
    std::map<std::string, engines::Gang> gangs;
    std::map<std::string, engines::State> states;
    int numStatesAsked = 0;
    std::vector<std::string> cancelled;
    std::string whyCancelled;                  ///< of the last
    std::map<std::string, std::string> words;  ///< of the engine, by worker
    Status submitError, findError, cancelError;
};

}  // namespace millrace::agent
