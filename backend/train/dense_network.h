#pragma once
// The part of a model that LibTorch computes, behind an interface of plain values: no torch, no
// Abseil.
//
// The formulas are in docs/reference/models.md. Every network ends in one logit per head; ReLU
// between layers.
// Threads: one owner. Failure: what LibTorch throws is returned as text; empty means success.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/train/dropout.h"

namespace millrace::train {

struct NetworkOptions {
    enum class Kind { kMlp, kDlrm, kDcn, kLogistic };
    Kind kind = Kind::kMlp;
    std::int64_t denseWidth = 0;
    std::int64_t vectorsWidth = 0;     ///< floats per row of all pooled embeddings
    std::int64_t dim = 0;              ///< kDlrm: floats of one pooled embedding
    std::vector<std::int64_t> bottom;  ///< kDlrm
    std::int64_t crossLayers = 0;      ///< kDcn
    std::int64_t crossRank = 0;        ///< kDcn: rank of the cross layers' matrices; 0: full
    std::vector<std::int64_t> layers;  ///< top, deep or hidden layers, without the output
    std::int64_t heads = 1;
    int threads = 1;
};

/// A weight and the sum of its gradients, both owned by the network.
struct NetworkParameter {
    std::string name;  ///< "top.0.weight"
    std::vector<std::int64_t> shape;
    float* values = nullptr;
    float* gradient = nullptr;
    std::int64_t size = 0;
};

class DenseNetwork {
 public:
    virtual ~DenseNetwork() = default;
    /// In the order of the layers. The pointers stay valid.
    virtual const std::vector<NetworkParameter>& parameters() = 0;
    /// dense [rows, denseWidth], vectors [rows, vectorsWidth] -> logits [rows, heads]. `dropout`
    /// may be null: all outputs are kept then.
    virtual std::string forward(std::int64_t rows, const float* dense, const float* vectors,
                                float* logits, bool keepsGraph, const Dropout* dropout) = 0;
    /// Call after forward(keepsGraph = true) of the same rows. Adds to the parameters' gradients
    /// and writes d loss / d vectors [rows, vectorsWidth].
    virtual std::string backward(const float* logitGradients, float* vectorGradients) = 0;
};

/// Returns null and sets `error` if LibTorch refuses. Sets the process's thread counts and
/// deterministic algorithms. Weights are zero until the caller fills them.
std::unique_ptr<DenseNetwork> makeTorchNetwork(const NetworkOptions& options, std::string& error);

/// The version of the loaded LibTorch.
std::string torchVersion();

}  // namespace millrace::train
