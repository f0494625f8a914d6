#include <cstring>
#include <exception>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

#include "backend/train/dense_network.h"

namespace millrace::train {
namespace {

at::Tensor wrap(const float* values, std::int64_t rows, std::int64_t width) {
    // LibTorch has no const tensors; the graph never writes into its inputs.
    return at::from_blob(const_cast<float*>(values), {rows, width}, at::kFloat);
}

struct Linear {
    at::Tensor weight, bias;
    at::Tensor apply(const at::Tensor& x) const { return at::addmm(bias, x, weight.t()); }
};

class Stack {
 public:
    /// Layers of the given sizes; ReLU after each, after the last one only when `endsActive`.
    void build(std::int64_t inputs, const std::vector<std::int64_t>& sizes, bool endsActive) {
        endsActive_ = endsActive;
        for (const std::int64_t outputs : sizes) {
            layers_.push_back({leaf({outputs, inputs}), leaf({outputs})});
            inputs = outputs;
        }
    }
    at::Tensor apply(at::Tensor x) const {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            x = layers_[i].apply(x);
            if (endsActive_ || i + 1 < layers_.size()) {
                x = at::relu(x);
            }
        }
        return x;
    }
    const std::vector<Linear>& layers() const { return layers_; }

 private:
    static at::Tensor leaf(at::IntArrayRef shape) {
        at::Tensor t = at::zeros(shape, at::kFloat);
        t.mutable_grad() = at::zeros(shape, at::kFloat);
        return t.requires_grad_(true);
    }
    std::vector<Linear> layers_;
    bool endsActive_ = false;
};

class TorchNetwork final : public DenseNetwork {
 public:
    explicit TorchNetwork(const NetworkOptions& options) : options_(options) {
        std::int64_t inputs = options.denseWidth + options.vectorsWidth;
        if (options.interactions) {
            const std::int64_t dense = options.denseWidth > 0 ? 1 : 0;
            const std::int64_t vectors = options.vectorsWidth / options.dim + dense;
            bottom_.build(options.denseWidth, dense ? options.bottom : std::vector<std::int64_t>{},
                          true);
            buildPairs(vectors);
            inputs = dense * options.dim + vectors * (vectors - 1) / 2;
            collect("bottom.", bottom_);
        }
        std::vector<std::int64_t> sizes = options.layers;
        sizes.push_back(options.heads);
        top_.build(inputs, sizes, false);
        collect(options.interactions ? "top." : "hidden.", top_);
    }

    const std::vector<NetworkParameter>& parameters() override { return parameters_; }

    std::string forward(std::int64_t rows, const float* dense, const float* vectors, float* logits,
                        bool keepsGraph) override {
        try {
            const c10::AutoGradMode gradient(keepsGraph);
            vectors_ = wrap(vectors, rows, options_.vectorsWidth);
            if (keepsGraph && options_.vectorsWidth > 0) {
                vectors_.requires_grad_(true);
            }
            output_ = run(wrap(dense, rows, options_.denseWidth));
            const at::Tensor values = output_.detach().contiguous();
            std::memcpy(logits, values.const_data_ptr<float>(),
                        static_cast<std::size_t>(rows * options_.heads) * sizeof(float));
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    }

    std::string backward(const float* logitGradients, float* vectorGradients) override {
        try {
            output_.backward(wrap(logitGradients, output_.size(0), options_.heads));
            if (options_.vectorsWidth > 0) {
                const at::Tensor g = vectors_.grad().contiguous();
                std::memcpy(vectorGradients, g.const_data_ptr<float>(), g.nbytes());
            }
            output_.reset();
            vectors_.reset();
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    }

 private:
    at::Tensor run(const at::Tensor& dense) const {
        if (!options_.interactions) {
            return top_.apply(at::cat({dense, vectors_}, 1));
        }
        const std::int64_t rows = dense.size(0);
        at::Tensor all = vectors_;
        at::Tensor bottom;
        if (options_.denseWidth > 0) {
            bottom = bottom_.apply(dense);
            all = at::cat({bottom, vectors_}, 1);
        }
        all = all.view({rows, -1, options_.dim});
        const at::Tensor products = at::bmm(all, all.transpose(1, 2)).view({rows, -1});
        const at::Tensor pairs = products.index_select(1, pairs_);
        return top_.apply(bottom.defined() ? at::cat({bottom, pairs}, 1) : pairs);
    }

    void buildPairs(std::int64_t vectors) {
        std::vector<std::int64_t> places;
        for (std::int64_t i = 1; i < vectors; ++i) {
            for (std::int64_t j = 0; j < i; ++j) {
                places.push_back(i * vectors + j);
            }
        }
        pairs_ = at::tensor(places, at::kLong);
    }

    void collect(const std::string& prefix, const Stack& stack) {
        const auto add = [&](const std::string& name, const at::Tensor& t) {
            parameters_.push_back({name, t.sizes().vec(), t.data_ptr<float>(),
                                   t.grad().data_ptr<float>(), t.numel()});
        };
        int number = 0;
        for (const Linear& layer : stack.layers()) {
            add(prefix + std::to_string(number) + ".weight", layer.weight);
            add(prefix + std::to_string(number) + ".bias", layer.bias);
            ++number;
        }
    }

    NetworkOptions options_;
    Stack bottom_, top_;
    at::Tensor pairs_;
    at::Tensor vectors_, output_;  // between forward and backward
    std::vector<NetworkParameter> parameters_;
};

}  // namespace

std::unique_ptr<DenseNetwork> makeTorchNetwork(const NetworkOptions& options, std::string& error) {
    try {
        at::globalContext().setDeterministicAlgorithms(true, false);
        at::globalContext().setDeterministicFillUninitializedMemory(false);
        at::set_num_threads(options.threads);
        if (at::get_num_interop_threads() != 1) {
            at::set_num_interop_threads(1);
        }
        return std::make_unique<TorchNetwork>(options);
    } catch (const std::exception& e) {
        error = e.what();
        return nullptr;
    }
}

std::string torchVersion() {
    return TORCH_VERSION;
}

}  // namespace millrace::train
