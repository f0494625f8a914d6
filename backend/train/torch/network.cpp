#include <cstring>
#include <exception>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

#include "backend/train/dense_network.h"
#include "backend/train/torch/modules.h"
#include "backend/train/torch/settings.h"

namespace millrace::train {
namespace {

at::Tensor wrap(const float* values, std::int64_t rows, std::int64_t width) {
    // LibTorch has no const tensors; the graph never writes into its inputs.
    return at::from_blob(const_cast<float*>(values), {rows, width}, at::kFloat);
}

class TorchNetwork final : public DenseNetwork {
 public:
    explicit TorchNetwork(const NetworkOptions& options)
        : options_(options), model_(options, at::kFloat) {
        for (const ModuleParameter& p : model_.parameters()) {
            parameters_.push_back({p.name, p.values.sizes().vec(), p.values.data_ptr<float>(),
                                   p.values.grad().data_ptr<float>(), p.values.numel()});
        }
    }

    const std::vector<NetworkParameter>& parameters() override { return parameters_; }

    std::string forward(std::int64_t rows, const float* dense, const float* vectors, float* logits,
                        bool keepsGraph, const Dropout* dropout) override {
        try {
            const c10::AutoGradMode gradient(keepsGraph);
            vectors_ = wrap(vectors, rows, options_.vectorsWidth);
            if (keepsGraph && options_.vectorsWidth > 0) {
                vectors_.requires_grad_(true);
            }
            output_ = model_.forward(wrap(dense, rows, options_.denseWidth), vectors_, dropout);
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
    NetworkOptions options_;
    DenseModel model_;
    at::Tensor vectors_, output_;  // between forward and backward
    std::vector<NetworkParameter> parameters_;
};

}  // namespace

std::unique_ptr<DenseNetwork> makeTorchNetwork(const NetworkOptions& options, std::string& error) {
    try {
        fixArithmetic(options.threads, true);
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
