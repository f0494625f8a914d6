#pragma once
// The dense part of a model as tensors: from the scaled dense input and the pooled embeddings to
// one logit per head.
//
// One tensor holds all parameters and another their gradients, so that an optimizer's step and a
// sum over ranks are calls over one block. Formulas: docs/reference/models.md. Threads: one owner.
// What LibTorch throws passes through.
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/dense_network.h"

namespace millrace::train {

struct ModuleParameter {
    std::string name;    ///< "top.0.weight"
    at::Tensor values;   ///< a leaf that requires gradients; a view of values()
    std::int64_t place;  ///< index of its first value in values()
};

class DenseModel {
 public:
    /// Parameters are 0 until they are filled. `options`: their type and device.
    DenseModel(const NetworkOptions& network, const at::TensorOptions& options);

    /// dense [rows, denseWidth], vectors [rows, vectorsWidth] -> [rows, heads].
    /// `dropout` may be null.
    at::Tensor forward(const at::Tensor& dense, const at::Tensor& vectors,
                       const Dropout* dropout) const;

    /// In the order of the layers.
    const std::vector<ModuleParameter>& parameters() const { return parameters_; }
    at::Tensor& values() { return values_; }        ///< [all parameters]
    at::Tensor& gradients() { return gradients_; }  ///< as values(); backward adds to them

 private:
    struct Linear {
        std::size_t weight = 0, bias = 0;  ///< indices of parameters
    };
    struct Stack {
        std::vector<Linear> layers;
        bool endsActive = false;
    };
    struct Shape {
        std::string name;
        std::vector<std::int64_t> sizes;
    };
    Stack stackOf(const std::string& prefix, std::int64_t inputs,
                  const std::vector<std::int64_t>& sizes, bool endsActive);
    Linear linearOf(const std::string& prefix, std::int64_t inputs, std::int64_t outputs);
    void place(const at::TensorOptions& options);
    void buildPairs(std::int64_t vectors, const at::TensorOptions& options);
    at::Tensor run(const Stack& stack, at::Tensor x, const Dropout* dropout) const;
    at::Tensor run(const Linear& layer, const at::Tensor& x) const;
    at::Tensor dlrm(const at::Tensor& dense, const at::Tensor& vectors,
                    const Dropout* dropout) const;
    at::Tensor dcn(const at::Tensor& x, const Dropout* dropout) const;

    const NetworkOptions network_;
    std::vector<Shape> shapes_;
    Stack bottom_, top_;
    struct Cross {
        std::size_t down = 0, up = 0, bias = 0;  ///< only `up` without a rank
    };
    std::vector<Cross> crosses_;
    at::Tensor pairs_, cells_;  ///< of the products: the cells of the pairs; for each cell its
                                ///< pair, or the number of pairs
    at::Tensor values_, gradients_;
    std::vector<ModuleParameter> parameters_;
};

}  // namespace millrace::train
