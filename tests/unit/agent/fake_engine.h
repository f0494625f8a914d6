#pragma once
// An engine whose gangs live and end as the test says.
#include <map>
#include <string>
#include <vector>

#include "backend/job/attempt_paths.h"
#include "daemon/agent/run_controller.h"

namespace millrace::agent {

class FakeEngine final : public engines::Engine {
 public:
    std::string name() const override { return "fake"; }
    Result<engines::JobId> submit(const engines::Gang& gang) override {
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
        return idOf(gang.key);
    }
    Result<std::optional<engines::JobId>> find(std::string_view key) override {
        if (!findError.ok()) {
            return findError;
        }
        const bool isKnown = states.contains(std::string(key));
        return isKnown ? std::optional(idOf(std::string(key))) : std::nullopt;
    }
    Result<engines::State> state(const engines::JobId& id) override { return states[id.native]; }
    Result<std::vector<std::pair<engines::JobId, engines::State>>> list() override {
        std::vector<std::pair<engines::JobId, engines::State>> all;
        for (const auto& [key, state] : states) {
            all.emplace_back(idOf(key), state);
        }
        return all;
    }
    Status cancel(const engines::JobId& id, std::chrono::milliseconds,
                  std::string_view why) override {
        cancelled.push_back(id.native);
        whyCancelled = why;
        return cancelError;
    }
    Result<std::string> log(const engines::JobId&, std::string_view worker, std::size_t) override {
        return words[std::string(worker)];
    }
    Result<engines::Capacity> capacity() override {
        engines::Capacity capacity;
        capacity.total = capacity.free = total;
        return capacity;
    }

    Result<std::string> gangDirectory(std::string_view key) const override {
        return std::string(key);
    }
    std::vector<std::string> recordedKeys() const override { return {}; }
    Status forget(const engines::JobId&) override { return okStatus(); }

    static engines::JobId idOf(const std::string& key) { return {"fake", "here", key}; }
    /// All of a gang's workers end; rank 0 with `code`, the feed with `feedCode`.
    engines::Event end(const std::string& key, int code, int feedCode = 0) {
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
        engines::Event event;
        event.kind = engines::Event::Kind::kEnded;
        event.job = idOf(key);
        event.state = state;
        return event;
    }

    schedule::Resources total{2, 0, std::uint64_t{8} << 30};
    std::map<std::string, engines::Gang> gangs;
    std::map<std::string, engines::State> states;
    std::vector<std::string> cancelled;
    std::string whyCancelled;                  ///< of the last
    std::map<std::string, std::string> words;  ///< of the engine, by worker
    Status submitError, findError, cancelError;
};

}  // namespace millrace::agent
