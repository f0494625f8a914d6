#include "tests/bench/train/bench_model.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "backend/train/torch_learner.h"

namespace millrace::train::bench {
namespace {

constexpr int kFrames = 16;

std::vector<std::int64_t> sizesOf(const std::string& text) {
    std::vector<std::int64_t> out;
    std::stringstream in(text);
    for (std::string one; std::getline(in, one, ',');) {
        out.push_back(std::atoll(one.c_str()));
    }
    return out;
}

bool isSwitch(const std::string& name) {
    return name == "tf32" || name == "free-order" || name == "calls" || name == "everything" ||
           name == "as-on-gpu";
}

}  // namespace

Arguments argumentsOf(int argc, char** argv) {
    Arguments out{{"device", "cpu"},        {"precision", "fp32"}, {"model", "dlrm"},
                  {"optimizer", "adagrad"}, {"rows", "4096"},      {"tables", "26"},
                  {"table-rows", "200000"}, {"dim", "64"},         {"dense", "13"},
                  {"bottom", "512,256,64"}, {"top", "512,256,1"},  {"lists", "0"},
                  {"list-length", "50"},    {"threads", "1"},      {"ranks", "1"},
                  {"seconds", "5"},         {"steps", "0"}};
    for (int i = 1; i < argc; ++i) {
        const std::string name = std::string(argv[i]).substr(2);
        const bool hasValue = !isSwitch(name) && i + 1 < argc;
        out[name] = hasValue ? argv[++i] : "yes";
    }
    return out;
}

std::int64_t numberOf(const Arguments& arguments, const std::string& name) {
    return std::atoll(arguments.at(name).c_str());
}

LearnerOptions optionsOf(const Arguments& arguments) {
    LearnerOptions o;
    o.model = arguments.at("model");
    o.embeddingDim = numberOf(arguments, "dim");
    o.bottom = sizesOf(arguments.at("bottom"));
    o.top = sizesOf(arguments.at("top"));
    o.hidden = o.top;
    o.hidden.pop_back();
    o.crossLayers = 3;
    o.denseWidth = numberOf(arguments, "dense");
    const std::int64_t tables = numberOf(arguments, "tables") + numberOf(arguments, "lists");
    for (std::int64_t t = 0; t < tables; ++t) {
        const std::string name = strCat("f", t);
        o.features.push_back({name, static_cast<int>(t)});
        o.tables.push_back({name, numberOf(arguments, "table-rows"), o.embeddingDim});
    }
    o.heads = {"click"};
    const bool isRowwise = arguments.at("optimizer") == "rowwise_adagrad";
    o.optimizer.kind = *parseOptimizer(isRowwise ? "adagrad" : arguments.at("optimizer"));
    o.optimizer.learningRate = 0.01;
    if (isRowwise) {
        o.tableOptimizer = o.optimizer;
        o.tableOptimizer->kind = OptimizerKind::kRowwiseAdagrad;
    }
    if (arguments.contains("everything")) {
        o.clipNorm = 0.5;
        o.dropout = 0.2;
        o.schedule = {ScheduleOptions::Kind::kCosine, 5, 1000, 0.1};
    }
    o.threads = static_cast<int>(numberOf(arguments, "threads"));
    o.device = arguments.at("device");
    o.precision = arguments.at("precision");
    o.usesTf32 = arguments.contains("tf32");
    o.isDeterministic = !arguments.contains("free-order");
    return o;
}

Result<std::unique_ptr<Learner>> makeBenchLearner(const Arguments& arguments, Group& group) {
    return makeTensorLearner(optionsOf(arguments), group, arguments.contains("as-on-gpu"));
}

Frame::Frame(const LearnerOptions& options, const Arguments& arguments, std::int64_t rows,
             std::mt19937_64& bits) {
    const std::int64_t lists = numberOf(arguments, "lists");
    const std::int64_t length = numberOf(arguments, "list-length");
    const auto ids = static_cast<std::int64_t>(options.features.size()) - lists;
    block_.resize(static_cast<std::size_t>(
        rows * (options.denseWidth * 4 + ids * 8 + lists * (length + 1) * 12 + 16) + 64 * 1024));
    std::uniform_real_distribution<double> unit(0, 1);
    const auto id = [&](std::int64_t) {
        return static_cast<std::int64_t>(static_cast<double>(options.tables[0].rows) *
                                         std::pow(unit(bits), 4));
    };
    view_.rows = rows;
    view_.dense = {{put<float>(rows * options.denseWidth,
                               [&](std::int64_t) { return static_cast<float>(unit(bits)); }),
                    options.denseWidth}};
    for (std::int64_t f = 0; f < ids; ++f) {
        view_.ids.push_back({put<std::int64_t>(rows, id)});
    }
    for (std::int64_t f = 0; f < lists; ++f) {
        IdColumn& list = view_.ids.emplace_back();
        const bool isShared = arguments.contains("everything");
        list.items = isShared ? (rows + 1) / 2 : rows;
        list.values = put<std::int64_t>(list.items * length, id);
        list.offsets =
            put<std::int64_t>(list.items + 1, [&](std::int64_t i) { return i * length; });
        if (isShared) {
            list.inverse = put<std::uint32_t>(
                rows, [](std::int64_t i) { return static_cast<std::uint32_t>(i / 2); });
            list.weights = put<float>(list.items * length, [&](std::int64_t) {
                return static_cast<float>(2 * unit(bits) - 1);
            });
        }
    }
    view_.heads = {
        {put<float>(rows, [&](std::int64_t) { return unit(bits) < 0.25 ? 1.0F : 0.0F; })}};
    view_.rowFiles = put<std::uint32_t>(rows, [](std::int64_t) { return 0U; });
    view_.rowNumbers =
        put<std::uint64_t>(rows, [](std::int64_t i) { return static_cast<std::uint64_t>(i); });
    view_.frame = block_.data();
    view_.frameBytes = at_;
}

template <class T, class Make>
const T* Frame::put(std::int64_t count, Make make) {
    at_ += (64 - reinterpret_cast<std::uintptr_t>(&block_[at_]) % 64) % 64;
    T* to = reinterpret_cast<T*>(&block_[at_]);
    for (std::int64_t i = 0; i < count; ++i) {
        to[i] = make(i);
    }
    at_ += static_cast<std::size_t>(count) * sizeof(T);
    return to;
}

Result<std::vector<std::unique_ptr<Frame>>> framesOf(const LearnerOptions& options,
                                                     const Arguments& arguments,
                                                     std::int64_t rows) {
    std::mt19937_64 bits(1);
    std::vector<std::unique_ptr<Frame>> frames;
    for (int i = 0; i < kFrames; ++i) {
        frames.push_back(std::make_unique<Frame>(options, arguments, rows, bits));
        RETURN_IF_ERROR(pinRing(options.device, frames.back()->data(), frames.back()->size()));
    }
    return frames;
}

Status step(Learner& learner, const BatchView& batch, LossSums& sums) {
    RETURN_IF_ERROR(learner.accumulate(batch, sums));
    RETURN_IF_ERROR(learner.apply(sums.totalWeight(), nullptr));
    return learner.collect(sums);
}

}  // namespace millrace::train::bench
