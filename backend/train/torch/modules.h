#pragma once
// The dense part of a model as tensors: from the scaled dense input and the pooled embeddings to
// one logit per head, and back.
//
// One tensor holds all parameters and another their gradients, so that an optimizer's step and a
// sum over ranks are calls over one block. The backward pass is written out: it takes a fraction of
// autograd's calls. Formulas: docs/reference/models.md. Threads: one owner. What LibTorch throws
// passes through.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/dropout.h"
#include "backend/train/learner.h"

namespace millrace::train {

struct ModuleParameter {
    std::string name;    ///< "top.0.weight"
    at::Tensor values;   ///< a view of values()
    std::int64_t place;  ///< index of its first value in values()
};

class DenseModel {
 public:
    /// Parameters are 0 until they are filled. `options`: their type and device. `isOnHost`: loops
    /// over small products. Layers compute in bfloat16 if the learner's precision is bf16.
    DenseModel(const LearnerOptions& learner, std::int64_t vectorsWidth,
               const at::TensorOptions& options, bool isOnHost);

    /// dense [rows, denseWidth], vectors [rows, vectorsWidth] (undefined: 0) -> [rows, heads].
    /// `dropout` may be null.
    at::Tensor forward(const at::Tensor& dense, const at::Tensor& vectors, const Dropout* dropout);
    /// Adds to gradients() and returns the gradient of the vectors (undefined without any). Call it
    /// once after forward(), with the gradient of its result.
    at::Tensor backward(const at::Tensor& logits);

    /// In the order of the layers.
    const std::vector<ModuleParameter>& parameters() const { return parameters_; }
    at::Tensor& values() { return values_; }        ///< [all parameters]
    at::Tensor& gradients() { return gradients_; }  ///< as values(); backward() adds to them

 private:
    enum class Kind { kMlp, kDlrm, kDcn, kLogistic };
    struct Shape {
        std::string name;
        std::vector<std::int64_t> sizes;
    };
    struct Linear {
        std::size_t weight = 0, bias = 0;  ///< indices of parameters
        bool hasBias = true;
    };
    struct Layer {
        Linear linear;
        bool isActive = false;           ///< ends in a ReLU
        at::Tensor input, output, kept;  ///< of the last forward(); `kept`: dropout's factors
    };
    using Stack = std::vector<Layer>;
    /// A parameter as the layers use it.
    struct Use {
        at::Tensor value, transposed, gradient;
    };
    struct Cross {
        std::optional<Linear> down;  ///< with a rank only
        Linear up;
        at::Tensor input, low, scaled;  ///< of the last forward()
    };

    void build(const LearnerOptions& learner);
    Stack stackOf(const std::string& prefix, std::int64_t inputs,
                  const std::vector<std::int64_t>& sizes, bool endsActive);
    Linear linearOf(const std::string& weight, std::vector<std::int64_t> shape,
                    const std::string& bias);
    void place(const at::TensorOptions& options);
    void buildPairs(const at::TensorOptions& options);
    at::Tensor cast(const at::Tensor& x) const;  ///< to the layers' type
    at::Tensor run(const Linear& layer, const at::Tensor& x) const;
    at::Tensor run(Stack& stack, at::Tensor x, const Dropout* dropout) const;
    /// The gradient of the input, if it is wanted.
    at::Tensor back(const Linear& layer, const at::Tensor& input, const at::Tensor& output,
                    bool wantsInput);
    at::Tensor back(const Stack& stack, at::Tensor output, bool wantsInput);
    at::Tensor cross(at::Tensor x);
    at::Tensor crossBack(at::Tensor output);
    at::Tensor pairsOf(const at::Tensor& vectors) const;
    at::Tensor pairsBack(const at::Tensor& pairs) const;

    Kind kind_ = Kind::kMlp;
    const std::int64_t denseWidth_, vectorsWidth_, dim_, heads_;
    const at::ScalarType compute_;  ///< type of the layers' arithmetic
    const bool isOnHost_;
    std::vector<Shape> shapes_;
    Stack bottom_, top_;
    std::vector<Cross> crosses_;
    at::Tensor pairs_, cells_;  ///< of the products: the cells of the pairs; for each cell its
                                ///< pair, in both triangles, or the number of pairs
    at::Tensor values_, gradients_, working_;  ///< `working_`: values_ in the layers' type
    std::vector<ModuleParameter> parameters_;
    std::vector<Use> uses_;
    at::Tensor vectors_;  ///< dlrm: all vectors of the last forward(), [rows, vectors, dim]
};

}  // namespace millrace::train
