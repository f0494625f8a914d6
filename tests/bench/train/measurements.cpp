#include "tests/bench/train/measurements.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <time.h>
#include <unistd.h>

#include "backend/core/hash.h"
#include "backend/train/evaluator.h"
#include "backend/train/loop/checkpoint_writer.h"
#include "backend/train/ranks/step_sums.h"
#include "tests/support/aten_calls.h"

namespace millrace::train::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Frames = std::vector<std::unique_ptr<Frame>>;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpuSeconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void print(const Group& group, const Json& told) {
    if (group.rank() == 0) {
        std::printf("%s\n", dumpJson(told).c_str());
    }
}

/// A hash of all weights and states.
std::string hashOf(Learner& learner) {
    std::string hashes;
    for (const TensorRef& tensor : learner.tensors()) {
        hashes += hashHex(
            {static_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor.numBytes())});
    }
    return hashHex(hashes);
}

Status measureTraining(const Arguments& arguments, Learner& learner, const Frames& frames,
                       Group& group) {
    constexpr std::int64_t kWarm = 5;
    const double limit = std::atof(arguments.at("seconds").c_str());
    const std::int64_t most = numberOf(arguments, "steps");
    std::int64_t steps = 0, rows = 0;
    Clock::time_point start = Clock::now();
    double cpuBefore = 0;
    LossSums sums;
    for (bool isOver = false; !isOver; ++steps) {
        if (steps == kWarm) {
            start = Clock::now();
            cpuBefore = cpuSeconds();
            rows = 0;
        }
        LossSums own;
        const BatchView& batch = frames[static_cast<std::size_t>(steps) % frames.size()]->view();
        RETURN_IF_ERROR(learner.accumulate(batch, own));
        if (group.size() > 1) {
            RETURN_IF_ERROR(learner.collect(own));
        }
        const bool wantsStop =
            group.rank() == 0 &&
            (most > 0 ? steps + 1 == most : steps >= kWarm && secondsSince(start) >= limit);
        ASSIGN_OR_RETURN(sums, sumOverRanks(std::move(own), group));
        RETURN_IF_ERROR(learner.apply(sums.totalWeight(), nullptr));
        if (group.size() == 1) {
            RETURN_IF_ERROR(learner.collect(sums));
        }
        rows += sums.rows;
        ASSIGN_OR_RETURN(const std::string word, group.ofFirst(wantsStop ? "stop" : ""));
        isOver = !word.empty();
    }
    const double seconds = secondsSince(start);
    const double cpu = cpuSeconds() - cpuBefore;
    print(group, {{"device", arguments.at("device")},
                  {"precision", arguments.at("precision")},
                  {"optimizer", arguments.at("optimizer")},
                  {"threads", numberOf(arguments, "threads")},
                  {"ranks", group.size()},
                  {"rows_per_s", std::llround(static_cast<double>(rows) / seconds)},
                  {"rows_per_cpu_s", std::llround(static_cast<double>(rows) / cpu)},
                  {"steps", steps},
                  {"weights", hashOf(learner)},
                  {"ms_a_step",
                   1000 * seconds * static_cast<double>(sums.rows) / static_cast<double>(rows)},
                  {"loss", sums.mean()}});
    return okStatus();
}

/// Batches of one rank's share of an evaluation.
class Share final : public BatchSource {
 public:
    Share(const Frames& frames, std::int64_t batches, const Group& group)
        : frames_(frames), batches_(batches), next_(group.rank()), ranks_(group.size()) {}
    Result<FeedEvent> next() override {
        FeedEvent event;
        event.number = next_;
        event.kind = FeedEvent::Kind::kEndOfEpoch;
        if (next_ < batches_) {
            event.kind = FeedEvent::Kind::kBatch;
            event.batch = frames_[static_cast<std::size_t>(next_) % frames_.size()]->view();
            next_ += ranks_;
        }
        return event;
    }
    Result<std::string> state(std::int64_t, std::int64_t) override { return std::string(); }

 private:
    const Frames& frames_;
    const std::int64_t batches_;
    std::int64_t next_, ranks_;
};

/// A daemon that never asks for anything.
class Silence final : public Reporter {
 public:
    Status send(rank::Body) override { return okStatus(); }
    Status finish(rank::Body) override { return okStatus(); }
    void setTrouble(const std::string&, std::string) override {}
    Result<std::vector<std::string>> unacked() const override { return std::vector<std::string>(); }
    std::int64_t unackedCheckpoints() override { return 0; }
    bool begin(std::int64_t) override { return true; }
    bool isOver(std::int64_t) override { return false; }
};

Status measureEvaluation(const Arguments& arguments, Learner& learner, const Frames& frames,
                         Group& group) {
    const std::int64_t batches = numberOf(arguments, "evaluate");
    const std::vector<std::string> heads{"click"};
    const EvalOptions options;
    Silence silence;
    Evaluator evaluator(options, heads, learner, group, silence);
    const auto open = [&](const char*, const std::string&) -> Result<std::unique_ptr<BatchSource>> {
        return std::unique_ptr<BatchSource>(new Share(frames, batches, group));
    };
    const auto next = [](BatchSource& source) { return source.next(); };
    RETURN_IF_ERROR(evaluator.run(1, open, next).status());  // from then on, everything is warm
    const double before = cpuSeconds();
    RETURN_IF_ERROR(evaluator.run(2, open, next).status());
    double cpu = cpuSeconds() - before;
    RETURN_IF_ERROR(group.sum(std::span(&cpu, 1)));
    print(group, {{"batches", batches}, {"ranks", group.size()}, {"cpu_seconds", cpu}});
    return okStatus();
}

std::int64_t bytesOf(const std::vector<TensorRef>& tensors) {
    std::int64_t bytes = 0;
    for (const TensorRef& tensor : tensors) {
        bytes += tensor.numBytes();
    }
    return bytes;
}

CheckpointOrder orderOf(const std::string& directory, std::int64_t step) {
    CheckpointOrder order;
    order.directory = directory;
    order.name = {step, 1};
    order.meta = Json::object();
    return order;
}

Status measureCheckpoint(const Arguments& arguments, Learner& learner, const Frames& frames,
                         Group& group) {
    const std::string& directory = arguments.at("checkpoint");
    LossSums sums;
    RETURN_IF_ERROR(step(learner, frames[0]->view(), sums));
    const std::vector<TensorRef> tensors = learner.tensors();
    std::vector<std::byte> plain(static_cast<std::size_t>(bytesOf(tensors)));
    double copy = 1e9, stall = 1e9, write = 1e9;
    CheckpointWriter writer;
    // The first call allocates the memory that the others use again. The best of three is the speed
    // of the machine.
    for (int round = 0; round < 4; ++round) {
        Clock::time_point begun = Clock::now();
        std::size_t at = 0;
        for (const TensorRef& tensor : tensors) {
            std::memcpy(&plain[at], tensor.data, static_cast<std::size_t>(tensor.numBytes()));
            at += static_cast<std::size_t>(tensor.numBytes());
        }
        copy = round == 0 ? copy : std::min(copy, secondsSince(begun));
        begun = Clock::now();
        writer.begin(orderOf(directory, round + 1), learner.tensors());
        stall = round == 0 ? stall : std::min(stall, secondsSince(begun));
        RETURN_IF_ERROR(writer.wait()->file.status());
        write = round == 0 ? write : std::min(write, secondsSince(begun));
    }
    print(group, {{"bytes", plain.size()},
                  {"copy_ms", 1000 * copy},
                  {"stall_ms", 1000 * stall},
                  {"write_ms", 1000 * write},
                  {"stall_over_copy", stall / copy}});
    return okStatus();
}

/// A field of /proc/self/status in bytes: VmRSS is the present size, VmHWM the peak since
/// resetPeak().
std::int64_t statusBytes(const char* key) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(key, 0) == 0) {
            return std::atoll(line.c_str() + std::strlen(key)) * 1024;
        }
    }
    return 0;
}

void resetPeak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

/// Calls of LibTorch's operators in one step.
Status measureCalls(Learner& learner, const Frames& frames, Group& group) {
    LossSums sums;
    RETURN_IF_ERROR(step(learner, frames[0]->view(), sums));
    Json byName = Json::object();
    std::int64_t total = 0;
    {
        const test::AtenCalls calls;
        LossSums own;
        RETURN_IF_ERROR(step(learner, frames[1]->view(), own));
        total = calls.total();
        for (const auto& [name, number] : calls.byName()) {
            byName[name] = number;
        }
    }
    print(group, {{"calls_a_step", total}, {"calls", byName}});
    return okStatus();
}

Status measureMemory(const Arguments& arguments, Group& group) {
    const std::string& directory = arguments.at("memory");
    const LearnerOptions options = optionsOf(arguments);
    ASSIGN_OR_RETURN(const Frames frames,
                     framesOf(options, arguments, numberOf(arguments, "rows")));
    {
        // The memory of LibTorch and of a step, measured on a similar model whose tables have a few
        // rows.
        Arguments small = arguments;
        small["table-rows"] = "16";
        ASSIGN_OR_RETURN(const Frames few, framesOf(optionsOf(small), small, 64));
        ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, makeBenchLearner(small, group));
        LossSums sums;
        RETURN_IF_ERROR(step(*learner, few[0]->view(), sums));
    }
    const std::int64_t before = statusBytes("VmRSS:");
    const auto most = [&] { return statusBytes("VmHWM:") - before; };
    ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, makeBenchLearner(arguments, group));
    Json told = {{"state_bytes", bytesOf(learner->tensors())}};
    resetPeak();
    for (const std::unique_ptr<Frame>& frame : frames) {
        LossSums sums;
        RETURN_IF_ERROR(step(*learner, frame->view(), sums));
    }
    told["train"] = most();
    resetPeak();
    RETURN_IF_ERROR(
        CheckpointWriter::write(orderOf(directory, 1), learner->tensors()).file.status());
    told["write_waiting"] = most();
    resetPeak();
    CheckpointWriter writer;
    writer.begin(orderOf(directory, 2), learner->tensors());
    RETURN_IF_ERROR(writer.wait()->file.status());
    told["write_copied"] = most();
    print(group, told);
    return okStatus();
}

}  // namespace

Status measure(const Arguments& arguments, Group& group) {
    if (arguments.contains("memory")) {
        return measureMemory(arguments, group);
    }
    const LearnerOptions options = optionsOf(arguments);
    ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, makeBenchLearner(arguments, group));
    const std::int64_t rows =
        numberOf(arguments, "rows") / (arguments.contains("evaluate") ? 1 : group.size());
    ASSIGN_OR_RETURN(const Frames frames, framesOf(options, arguments, rows));
    if (arguments.contains("evaluate")) {
        return measureEvaluation(arguments, *learner, frames, group);
    }
    if (arguments.contains("calls")) {
        return measureCalls(*learner, frames, group);
    }
    return arguments.contains("checkpoint") ? measureCheckpoint(arguments, *learner, frames, group)
                                            : measureTraining(arguments, *learner, frames, group);
}

}  // namespace millrace::train::bench
