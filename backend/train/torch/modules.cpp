#include "backend/train/torch/modules.h"

#include <numeric>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace millrace::train {
namespace {

/// Picks columns `cells` out of all cells of the products. Each is picked once, so its gradient is
/// a pick too: nothing is added, and nothing depends on the order of additions.
class PickPairs : public torch::autograd::Function<PickPairs> {
 public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& products,
                              const at::Tensor& pairs, const at::Tensor& cells) {
        context->save_for_backward({cells});
        return products.index_select(1, pairs);
    }
    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* context,
        const torch::autograd::variable_list& gradients) {
        const at::Tensor cells = context->get_saved_variables()[0];
        const at::Tensor nothing = at::zeros({gradients[0].size(0), 1}, gradients[0].options());
        return {at::cat({gradients[0], nothing}, 1).index_select(1, cells), at::Tensor(),
                at::Tensor()};
    }
};

/// Returns x with the outputs that dropout selects set to 0.
at::Tensor thinned(const at::Tensor& x, const Dropout& dropout, std::int64_t layer) {
    std::vector<std::uint8_t> kept = dropout.kept(layer, x.size(1));
    const at::Tensor mask = at::from_blob(kept.data(), x.sizes(), at::kByte)
                                .to(x.options(), false, true)
                                .mul_(dropout.scale());
    return x * mask;
}

}  // namespace

DenseModel::DenseModel(const NetworkOptions& network, const at::TensorOptions& options)
    : network_(network) {
    using Kind = NetworkOptions::Kind;
    const std::int64_t width = network.denseWidth + network.vectorsWidth;
    std::vector<std::int64_t> sizes = network.layers;
    sizes.push_back(network.heads);
    switch (network.kind) {
        case Kind::kDlrm: {
            const std::int64_t dense = network.denseWidth > 0 ? 1 : 0;
            const std::int64_t vectors = network.vectorsWidth / network.dim + dense;
            bottom_ = stackOf("bottom.", network.denseWidth,
                              dense ? network.bottom : std::vector<std::int64_t>{}, true);
            buildPairs(vectors, options);
            top_ = stackOf("top.", dense * network.dim + vectors * (vectors - 1) / 2, sizes, false);
            break;
        }
        case Kind::kDcn:
            for (std::int64_t i = 0; i < network.crossLayers; ++i) {
                const std::string prefix = "cross." + std::to_string(i) + ".";
                Cross cross;
                if (network.crossRank > 0) {
                    shapes_.push_back({prefix + "down", {network.crossRank, width}});
                    cross.down = shapes_.size() - 1;
                }
                shapes_.push_back({prefix + "weight",
                                   {width, network.crossRank > 0 ? network.crossRank : width}});
                cross.up = shapes_.size() - 1;
                shapes_.push_back({prefix + "bias", {width}});
                cross.bias = shapes_.size() - 1;
                crosses_.push_back(cross);
            }
            top_ = stackOf("deep.", width, sizes, false);
            break;
        case Kind::kLogistic:
            top_ = stackOf("linear.", network.denseWidth, {network.heads}, false);
            break;
        case Kind::kMlp:
            top_ = stackOf("hidden.", width, sizes, false);
            break;
    }
    place(options);
}

DenseModel::Linear DenseModel::linearOf(const std::string& prefix, std::int64_t inputs,
                                        std::int64_t outputs) {
    shapes_.push_back({prefix + "weight", {outputs, inputs}});
    shapes_.push_back({prefix + "bias", {outputs}});
    return {shapes_.size() - 2, shapes_.size() - 1};
}

DenseModel::Stack DenseModel::stackOf(const std::string& prefix, std::int64_t inputs,
                                      const std::vector<std::int64_t>& sizes, bool endsActive) {
    Stack stack{{}, endsActive};
    for (const std::int64_t outputs : sizes) {
        stack.layers.push_back(
            linearOf(prefix + std::to_string(stack.layers.size()) + ".", inputs, outputs));
        inputs = outputs;
    }
    return stack;
}

// Allocates one block for all; autograd treats its views as separate parameters.
void DenseModel::place(const at::TensorOptions& options) {
    std::int64_t total = 0;
    std::vector<std::int64_t> sizes;
    for (const Shape& shape : shapes_) {
        sizes.push_back(std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::int64_t{1},
                                        std::multiplies<>()));
        total += sizes.back();
    }
    values_ = at::zeros({total}, options);
    gradients_ = at::zeros({total}, options);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
        at::Tensor leaf = values_.narrow(0, at, sizes[i]).view(shapes_[i].sizes).detach();
        leaf.mutable_grad() = gradients_.narrow(0, at, sizes[i]).view(shapes_[i].sizes);
        leaf.requires_grad_(true);
        parameters_.push_back({shapes_[i].name, leaf, at});
        at += sizes[i];
    }
}

// The lower triangle, row by row.
void DenseModel::buildPairs(std::int64_t vectors, const at::TensorOptions& options) {
    std::vector<std::int64_t> pairs,
        cells(static_cast<std::size_t>(vectors * vectors), vectors * (vectors - 1) / 2);
    for (std::int64_t i = 1; i < vectors; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            cells[static_cast<std::size_t>(i * vectors + j)] =
                static_cast<std::int64_t>(pairs.size());
            pairs.push_back(i * vectors + j);
        }
    }
    pairs_ = at::tensor(pairs, at::kLong).to(options.device());
    cells_ = at::tensor(cells, at::kLong).to(options.device());
}

at::Tensor DenseModel::run(const Linear& layer, const at::Tensor& x) const {
    return at::linear(x, parameters_[layer.weight].values, parameters_[layer.bias].values);
}

// Never drops a stack's last outputs: they are its result.
at::Tensor DenseModel::run(const Stack& stack, at::Tensor x, const Dropout* dropout) const {
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
        const bool isLast = i + 1 == stack.layers.size();
        x = run(stack.layers[i], x);
        if (stack.endsActive || !isLast) {
            x = at::relu(x);
        }
        if (dropout != nullptr && !isLast) {
            x = thinned(x, *dropout, static_cast<std::int64_t>(stack.layers[i].weight));
        }
    }
    return x;
}

at::Tensor DenseModel::dlrm(const at::Tensor& dense, const at::Tensor& vectors,
                            const Dropout* dropout) const {
    const std::int64_t rows = vectors.size(0);
    at::Tensor all = vectors;
    at::Tensor bottom;
    if (network_.denseWidth > 0) {
        bottom = run(bottom_, dense, dropout);
        all = at::cat({bottom, vectors.to(bottom.scalar_type())}, 1);
    }
    all = all.view({rows, -1, network_.dim});
    const at::Tensor products = at::bmm(all, all.transpose(1, 2)).reshape({rows, -1});
    const at::Tensor pairs = PickPairs::apply(products, pairs_, cells_);
    return run(top_, bottom.defined() ? at::cat({bottom, pairs}, 1) : pairs, dropout);
}

// x_{l+1} = x_0 * (W_l x_l + b_l) + x_l, with W_l = U_l V_l if a rank is given (Wang et al., DCN
// V2, 2020, equations 1 and 2).
at::Tensor DenseModel::dcn(const at::Tensor& x, const Dropout* dropout) const {
    at::Tensor crossed = x;
    for (const Cross& cross : crosses_) {
        const at::Tensor low =
            network_.crossRank > 0 ? at::linear(crossed, parameters_[cross.down].values) : crossed;
        crossed =
            x * at::linear(low, parameters_[cross.up].values, parameters_[cross.bias].values) +
            crossed;
    }
    return run(top_, crossed, dropout);
}

at::Tensor DenseModel::forward(const at::Tensor& dense, const at::Tensor& vectors,
                               const Dropout* dropout) const {
    using Kind = NetworkOptions::Kind;
    switch (network_.kind) {
        case Kind::kDlrm:
            return dlrm(dense, vectors, dropout);
        case Kind::kLogistic:
            // A table's vector holds one weight per head.
            return run(top_, dense, dropout) +
                   vectors.view({vectors.size(0), -1, network_.heads}).sum(1);
        case Kind::kDcn:
            return dcn(at::cat({dense, vectors}, 1), dropout);
        case Kind::kMlp:
            break;
    }
    return run(top_, at::cat({dense, vectors}, 1), dropout);
}

}  // namespace millrace::train
