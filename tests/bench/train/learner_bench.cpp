// A learner on batches in memory: rows a second of training, one line of JSON. Not part of the
// default tests.
//
//   learner_bench [--learner loops|tensors] [--device cpu|cuda] [--precision fp32|bf16|fp64]
//   [--tf32] [--free-order]
//                 [--model dlrm|dcn_v2|mlp] [--optimizer sgd|adagrad|adamw] [--rows 4096] [--tables
//                 26] [--table-rows 200000]
//                 [--dim 64] [--dense 13] [--bottom 512,256,64] [--top 512,256,1] [--lists 0]
//                 [--threads 1] [--seconds 5]
//
// 16 batches like frames: one block each, pinned for a GPU. Ids are skewed (u^4). plain.py is the
// same model in PyTorch; README.md has the figures.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "backend/train/network_learner.h"
#include "backend/train/torch_learner.h"

namespace millrace::train {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::int64_t> sizesOf(const std::string& text) {
    std::vector<std::int64_t> out;
    std::stringstream in(text);
    for (std::string one; std::getline(in, one, ',');) {
        out.push_back(std::atoll(one.c_str()));
    }
    return out;
}

using Arguments = std::map<std::string, std::string>;

Arguments argumentsOf(int argc, char** argv) {
    Arguments out{{"learner", "tensors"}, {"device", "cpu"},        {"precision", "fp32"},
                  {"model", "dlrm"},      {"optimizer", "adagrad"}, {"rows", "4096"},
                  {"tables", "26"},       {"table-rows", "200000"}, {"dim", "64"},
                  {"dense", "13"},        {"bottom", "512,256,64"}, {"top", "512,256,1"},
                  {"lists", "0"},         {"threads", "1"},         {"seconds", "5"}};
    for (int i = 1; i < argc; ++i) {
        const std::string name = std::string(argv[i]).substr(2);
        const bool hasValue = name != "tf32" && name != "free-order" && i + 1 < argc;
        out[name] = hasValue ? argv[++i] : "yes";
    }
    return out;
}

LearnerOptions optionsOf(const Arguments& arguments) {
    const auto number = [&](const char* name) { return std::atoll(arguments.at(name).c_str()); };
    LearnerOptions o;
    o.model = arguments.at("model");
    o.embeddingDim = number("dim");
    o.bottom = sizesOf(arguments.at("bottom"));
    o.top = sizesOf(arguments.at("top"));
    o.hidden = sizesOf(arguments.at("top"));
    o.hidden.pop_back();
    o.crossLayers = 3;
    o.denseWidth = number("dense");
    for (std::int64_t t = 0; t < number("tables") + number("lists"); ++t) {
        o.features.push_back({"f" + std::to_string(t), static_cast<int>(t)});
        o.tables.push_back({"f" + std::to_string(t), number("table-rows"), o.embeddingDim});
    }
    o.heads = {"click"};
    o.optimizer.kind = *parseOptimizer(arguments.at("optimizer"));
    o.optimizer.learningRate = 0.01;
    o.threads = static_cast<int>(number("threads"));
    o.device = arguments.at("device");
    o.precision = arguments.at("precision");
    o.usesTf32 = arguments.contains("tf32");
    o.isDeterministic = !arguments.contains("free-order");
    return o;
}

/// One block with all columns, as a frame.
class Frame {
 public:
    Frame(const LearnerOptions& o, std::int64_t rows, std::int64_t lists, std::mt19937_64& bits) {
        constexpr std::int64_t kListLength = 50;
        const auto ids = static_cast<std::int64_t>(o.features.size()) - lists;
        block_.resize(static_cast<std::size_t>(
            rows * (o.denseWidth * 4 + ids * 8 + lists * (kListLength + 1) * 8 + 16) + 64 * 1024));
        std::uniform_real_distribution<double> unit(0, 1);
        const auto id = [&] {
            return static_cast<std::int64_t>(static_cast<double>(o.tables[0].rows) *
                                             std::pow(unit(bits), 4));
        };
        view_.rows = rows;
        view_.dense = {{put<float>(rows * o.denseWidth,
                                   [&](std::int64_t) { return static_cast<float>(unit(bits)); }),
                        o.denseWidth}};
        for (std::int64_t f = 0; f < ids; ++f) {
            view_.ids.push_back({put<std::int64_t>(rows, [&](std::int64_t) { return id(); })});
        }
        for (std::int64_t f = 0; f < lists; ++f) {
            IdColumn& list = view_.ids.emplace_back();
            list.values = put<std::int64_t>(rows * kListLength, [&](std::int64_t) { return id(); });
            list.offsets =
                put<std::int64_t>(rows + 1, [&](std::int64_t i) { return i * kListLength; });
            list.items = rows;
        }
        view_.heads = {
            {put<float>(rows, [&](std::int64_t) { return unit(bits) < 0.25 ? 1.0F : 0.0F; })}};
        view_.frame = block_.data();
        view_.frameBytes = at_;
    }
    const BatchView& view() const { return view_; }
    void* data() { return block_.data(); }
    std::size_t size() const { return block_.size(); }

 private:
    template <class T, class Make>
    const T* put(std::int64_t count, Make make) {
        at_ += (64 - reinterpret_cast<std::uintptr_t>(&block_[at_]) % 64) % 64;
        T* to = reinterpret_cast<T*>(&block_[at_]);
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] = make(i);
        }
        at_ += static_cast<std::size_t>(count) * sizeof(T);
        return to;
    }
    std::vector<std::byte> block_;
    std::size_t at_ = 0;
    BatchView view_;
};

Status run(const Arguments& arguments) {
    const LearnerOptions options = optionsOf(arguments);
    const std::unique_ptr<Group> alone = makeLoneGroup();
    ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner,
                     arguments.at("learner") == "loops" ? NetworkLearner::make(options)
                                                        : makeTensorLearner(options, *alone));
    std::mt19937_64 bits(1);
    std::vector<std::unique_ptr<Frame>> frames;
    for (int i = 0; i < 16; ++i) {
        frames.push_back(std::make_unique<Frame>(options, std::atoll(arguments.at("rows").c_str()),
                                                 std::atoll(arguments.at("lists").c_str()), bits));
        RETURN_IF_ERROR(pinRing(options.device, frames.back()->data(), frames.back()->size()));
    }
    const double limit = std::atof(arguments.at("seconds").c_str());
    std::int64_t steps = 0, rows = 0;
    double loss = 0;
    Clock::time_point start = Clock::now();
    for (constexpr std::int64_t kWarm = 5; steps <= kWarm || secondsSince(start) < limit; ++steps) {
        if (steps == kWarm) {
            start = Clock::now();
            rows = 0;
        }
        LossSums sums;
        const BatchView& batch = frames[static_cast<std::size_t>(steps) % frames.size()]->view();
        RETURN_IF_ERROR(learner->accumulate(batch, sums));
        RETURN_IF_ERROR(learner->apply(sums.totalWeight(), nullptr));
        RETURN_IF_ERROR(learner->collect(sums));
        rows += batch.rows;
        loss = sums.mean();
    }
    const double seconds = secondsSince(start);
    std::printf(
        "{\"learner\": \"%s\", \"device\": \"%s\", \"precision\": \"%s\", \"optimizer\": \"%s\", "
        "\"threads\": %d, \"rows_per_s\": %.0f, "
        "\"ms_a_step\": %.3f, \"loss\": %.4f}\n",
        arguments.at("learner").c_str(), options.device.c_str(), options.precision.c_str(),
        arguments.at("optimizer").c_str(), options.threads, static_cast<double>(rows) / seconds,
        1000 * seconds * static_cast<double>(frames[0]->view().rows) / static_cast<double>(rows),
        loss);
    return okStatus();
}

}  // namespace
}  // namespace millrace::train

int main(int argc, char** argv) {
    const millrace::Status status = millrace::train::run(millrace::train::argumentsOf(argc, argv));
    if (!status.ok()) {
        std::fprintf(stderr, "learner_bench: %s\n", std::string(status.message()).c_str());
        return 1;
    }
    return 0;
}
