#include "backend/train/torch/modules.h"

#include <functional>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace millrace::train {
namespace {

// Loops multiply the pairs of at most this many vectors a row faster than a batched product does.
constexpr std::int64_t kFewVectors = 8;
constexpr std::int64_t kRowsPerThread = 256;

/// The factors of x's outputs under dropout.
at::Tensor keptOf(const at::Tensor& x, const Dropout& dropout, std::int64_t layer) {
    std::vector<std::uint8_t> kept = dropout.kept(layer, x.size(1));
    return at::from_blob(kept.data(), x.sizes(), at::kByte)
        .to(x.options(), false, true)
        .mul_(dropout.scale());
}

/// Products of each pair of a row's `count` vectors, pair (i, j < i) row by row of the triangle.
template <class T>
void multiplyPairs(const at::Tensor& vectors, at::Tensor& pairs) {
    const std::int64_t count = vectors.size(1), dim = vectors.size(2);
    const T* const from = vectors.const_data_ptr<T>();
    T* const to = pairs.data_ptr<T>();
    at::parallel_for(0, vectors.size(0), kRowsPerThread, [&](std::int64_t r, std::int64_t end) {
        for (; r < end; ++r) {
            const T* const row = from + r * count * dim;
            T* out = to + r * count * (count - 1) / 2;
            for (std::int64_t i = 1; i < count; ++i) {
                for (std::int64_t j = 0; j < i; ++j) {
                    T sum = 0;
                    for (std::int64_t d = 0; d < dim; ++d) {
                        sum += row[i * dim + d] * row[j * dim + d];
                    }
                    *out++ = sum;
                }
            }
        }
    });
}

template <class T>
void multiplyPairsBack(const at::Tensor& vectors, const at::Tensor& pairs, at::Tensor& gradients) {
    const std::int64_t count = vectors.size(1), dim = vectors.size(2);
    const T* const from = vectors.const_data_ptr<T>();
    const T* const of = pairs.const_data_ptr<T>();
    T* const to = gradients.data_ptr<T>();
    at::parallel_for(0, vectors.size(0), kRowsPerThread, [&](std::int64_t r, std::int64_t end) {
        for (; r < end; ++r) {
            const T* const row = from + r * count * dim;
            const T* g = of + r * pairs.stride(0);
            T* const out = to + r * count * dim;
            std::fill(out, out + count * dim, T(0));
            for (std::int64_t i = 1; i < count; ++i) {
                for (std::int64_t j = 0; j < i; ++j, ++g) {
                    for (std::int64_t d = 0; d < dim; ++d) {
                        out[i * dim + d] += *g * row[j * dim + d];
                    }
                    for (std::int64_t d = 0; d < dim; ++d) {
                        out[j * dim + d] += *g * row[i * dim + d];
                    }
                }
            }
        }
    });
}

}  // namespace

DenseModel::DenseModel(const LearnerOptions& learner, std::int64_t vectorsWidth,
                       const at::TensorOptions& options, bool isOnHost)
    : denseWidth_(learner.denseWidth),
      vectorsWidth_(vectorsWidth),
      dim_(learner.embeddingDim),
      heads_(static_cast<std::int64_t>(learner.heads.size())),
      compute_(learner.precision == "bf16" ? at::kBFloat16
                                           : c10::typeMetaToScalarType(options.dtype())),
      isOnHost_(isOnHost) {
    build(learner);
    place(options);
    if (kind_ == Kind::kDlrm) {
        buildPairs(options);
    }
}

void DenseModel::build(const LearnerOptions& learner) {
    const std::int64_t width = denseWidth_ + vectorsWidth_;
    std::vector<std::int64_t> sizes = learner.hidden;
    if (learner.model == "dlrm") {
        kind_ = Kind::kDlrm;
        const std::int64_t dense = denseWidth_ > 0 ? 1 : 0;
        const std::int64_t vectors = vectorsWidth_ / dim_ + dense;
        bottom_ = stackOf("bottom.", denseWidth_,
                          dense != 0 ? learner.bottom : std::vector<std::int64_t>{}, true);
        sizes = learner.top;
        sizes.back() = heads_;
        top_ = stackOf("top.", dense * dim_ + vectors * (vectors - 1) / 2, sizes, false);
        return;
    }
    if (learner.model == "logistic") {
        kind_ = Kind::kLogistic;
        top_ = stackOf("linear.", denseWidth_, {heads_}, false);
        return;
    }
    kind_ = learner.model == "dcn_v2" ? Kind::kDcn : Kind::kMlp;
    sizes.push_back(heads_);
    for (std::int64_t i = 0; kind_ == Kind::kDcn && i < learner.crossLayers; ++i) {
        const std::string prefix = "cross." + std::to_string(i) + ".";
        const std::int64_t rank = learner.crossRank;
        Cross& cross = crosses_.emplace_back();
        if (rank > 0) {
            cross.down = linearOf(prefix + "down", {rank, width}, "");
        }
        cross.up = linearOf(prefix + "weight", {width, rank > 0 ? rank : width}, prefix + "bias");
    }
    top_ = stackOf(kind_ == Kind::kDcn ? "deep." : "hidden.", width, sizes, false);
}

at::Tensor DenseModel::cast(const at::Tensor& x) const {
    return x.scalar_type() == compute_ ? x : x.to(compute_);
}

DenseModel::Linear DenseModel::linearOf(const std::string& weight, std::vector<std::int64_t> shape,
                                        const std::string& bias) {
    const std::int64_t outputs = shape[0];
    Linear out{shapes_.size(), shapes_.size() + 1, !bias.empty()};
    shapes_.push_back({weight, std::move(shape)});
    if (out.hasBias) {
        shapes_.push_back({bias, {outputs}});
    }
    return out;
}

DenseModel::Stack DenseModel::stackOf(const std::string& prefix, std::int64_t inputs,
                                      const std::vector<std::int64_t>& sizes, bool endsActive) {
    Stack stack;
    for (const std::int64_t outputs : sizes) {
        const std::string name = prefix + std::to_string(stack.size());
        const bool isLast = stack.size() + 1 == sizes.size();
        stack.push_back({linearOf(name + ".weight", {outputs, inputs}, name + ".bias"),
                         endsActive || !isLast,
                         {},
                         {},
                         {}});
        inputs = outputs;
    }
    return stack;
}

// Allocates one block for all.
void DenseModel::place(const at::TensorOptions& options) {
    std::int64_t total = 0;
    for (const Shape& shape : shapes_) {
        total += std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::int64_t{1},
                                 std::multiplies<>());
    }
    values_ = at::zeros({total}, options);
    gradients_ = at::zeros({total}, options);
    working_ = values_.scalar_type() == compute_ ? values_ : values_.to(compute_);
    std::int64_t at = 0;
    for (const Shape& shape : shapes_) {
        const auto part = [&](const at::Tensor& of) {
            return of.as_strided(shape.sizes, c10::contiguous_strides(shape.sizes), at);
        };
        parameters_.push_back({shape.name, part(values_), at});
        const at::Tensor value = part(working_);
        uses_.push_back({value, value.t(), part(gradients_)});
        at += value.numel();
    }
}

// The lower triangle, row by row.
void DenseModel::buildPairs(const at::TensorOptions& options) {
    const std::int64_t vectors = vectorsWidth_ / dim_ + (denseWidth_ > 0 ? 1 : 0);
    std::vector<std::int64_t> pairs,
        cells(static_cast<std::size_t>(vectors * vectors), vectors * (vectors - 1) / 2);
    for (std::int64_t i = 1; i < vectors; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            cells[static_cast<std::size_t>(i * vectors + j)] =
                cells[static_cast<std::size_t>(j * vectors + i)] =
                    static_cast<std::int64_t>(pairs.size());
            pairs.push_back(i * vectors + j);
        }
    }
    pairs_ = at::tensor(pairs, at::kLong).to(options.device());
    cells_ = at::tensor(cells, at::kLong).to(options.device());
}

at::Tensor DenseModel::run(const Linear& layer, const at::Tensor& x) const {
    const at::Tensor& weight = uses_[layer.weight].transposed;
    if (!layer.hasBias) {
        return cast(x).mm(weight);
    }
    const at::Tensor& bias = uses_[layer.bias].value;
    return isOnHost_ ? cast(x).mm(weight).add_(bias) : at::addmm(bias, cast(x), weight);
}

at::Tensor DenseModel::run(Stack& stack, at::Tensor x, const Dropout* dropout) const {
    for (Layer& layer : stack) {
        layer.input = cast(x);
        x = run(layer.linear, layer.input);
        if (layer.isActive) {
            x.clamp_min_(0);
        }
        layer.output = x;
        layer.kept.reset();
        if (dropout != nullptr && &layer != &stack.back()) {
            layer.kept = keptOf(x, *dropout, static_cast<std::int64_t>(layer.linear.weight));
            x = x * layer.kept;
        }
    }
    return x;
}

at::Tensor DenseModel::back(const Linear& layer, const at::Tensor& input, const at::Tensor& output,
                            bool wantsInput) {
    const Use& weight = uses_[layer.weight];
    const at::Tensor given = cast(output);
    const at::Tensor columns =
        given.as_strided({given.size(1), given.size(0)}, {given.stride(1), given.stride(0)});
    if (compute_ == gradients_.scalar_type()) {
        weight.gradient.addmm_(columns, input);
    } else {
        weight.gradient.add_(columns.mm(cast(input)));
    }
    if (layer.hasBias) {
        uses_[layer.bias].gradient.add_(given.sum(0));
    }
    return wantsInput ? given.mm(weight.value) : at::Tensor();
}

at::Tensor DenseModel::back(const Stack& stack, at::Tensor output, bool wantsInput) {
    for (auto layer = stack.rbegin(); layer != stack.rend(); ++layer) {
        if (layer->kept.defined()) {
            output = output * layer->kept;
        }
        if (layer->isActive) {
            output = at::threshold_backward(output, layer->output, 0);
        }
        output = back(layer->linear, layer->input, output, wantsInput || layer + 1 != stack.rend());
    }
    return output;
}

at::Tensor DenseModel::pairsOf(const at::Tensor& vectors) const {
    const std::int64_t rows = vectors.size(0);
    if (isOnHost_ && vectors.size(1) <= kFewVectors && compute_ != at::kBFloat16) {
        at::Tensor pairs = at::empty({rows, pairs_.size(0)}, vectors.options());
        compute_ == at::kDouble ? multiplyPairs<double>(vectors, pairs)
                                : multiplyPairs<float>(vectors, pairs);
        return pairs;
    }
    return at::bmm(vectors, vectors.transpose(1, 2)).view({rows, -1}).index_select(1, pairs_);
}

at::Tensor DenseModel::pairsBack(const at::Tensor& pairs) const {
    const std::int64_t rows = vectors_.size(0), count = vectors_.size(1);
    if (isOnHost_ && count <= kFewVectors && compute_ != at::kBFloat16) {
        at::Tensor out = at::empty(vectors_.sizes(), vectors_.options());
        compute_ == at::kDouble ? multiplyPairsBack<double>(vectors_, pairs, out)
                                : multiplyPairsBack<float>(vectors_, pairs, out);
        return out;
    }
    // A pair's gradient is in both triangles, and the diagonal has none: each cell is one pick.
    const at::Tensor cells = at::constant_pad_nd(pairs, {0, 1}).index_select(1, cells_);
    return at::bmm(cells.view({rows, count, count}), vectors_);
}

// x_{l+1} = x_0 * (W_l x_l + b_l) + x_l, with W_l = U_l V_l if a rank is given (Wang et al., DCN
// V2, 2020, equations 1 and 2).
at::Tensor DenseModel::cross(at::Tensor x) {
    const at::Tensor first = x;
    for (Cross& cross : crosses_) {
        cross.input = x;
        cross.low = cross.down ? run(*cross.down, x) : x;
        cross.scaled = run(cross.up, cross.low);
        x = at::addcmul(x, first, cross.scaled);
    }
    return x;
}

at::Tensor DenseModel::crossBack(at::Tensor output) {
    const at::Tensor& first = crosses_.front().input;
    at::Tensor ofFirst = at::zeros_like(first);
    for (auto cross = crosses_.rbegin(); cross != crosses_.rend(); ++cross) {
        ofFirst.addcmul_(output, cross->scaled);
        at::Tensor below = back(cross->up, cross->low, output * first, true);
        if (cross->down) {
            below = back(*cross->down, cross->input, below, true);
        }
        output = output + below;
    }
    return output.add_(ofFirst);
}

at::Tensor DenseModel::forward(const at::Tensor& dense, const at::Tensor& vectors,
                               const Dropout* dropout) {
    if (!working_.is_same(values_)) {
        working_.copy_(values_);
    }
    const auto both = [](const at::Tensor& a, const at::Tensor& b) {
        return !a.defined() || a.size(1) == 0 ? b : b.defined() ? at::cat({a, b}, 1) : a;
    };
    if (kind_ == Kind::kLogistic) {
        // A table's vector holds one weight per head.
        const at::Tensor out = run(top_, dense, dropout);
        return vectors.defined() ? out + vectors.view({out.size(0), -1, heads_}).sum(1) : out;
    }
    if (kind_ == Kind::kDlrm) {
        const at::Tensor bottom = denseWidth_ > 0 ? run(bottom_, dense, dropout) : at::Tensor();
        vectors_ = both(bottom, vectors.defined() ? cast(vectors) : vectors)
                       .view({dense.size(0), -1, dim_});
        return run(top_, both(bottom, pairsOf(vectors_)), dropout);
    }
    const at::Tensor all = both(dense, vectors);
    return run(top_, kind_ == Kind::kDcn ? cross(all) : all, dropout);
}

at::Tensor DenseModel::backward(const at::Tensor& logits) {
    const bool hasVectors = vectorsWidth_ > 0;
    if (kind_ == Kind::kLogistic) {
        back(top_, logits, false);
        return hasVectors ? logits.repeat({1, vectorsWidth_ / heads_}) : at::Tensor();
    }
    at::Tensor all = back(top_, logits, kind_ != Kind::kMlp || hasVectors);
    if (kind_ == Kind::kDcn) {
        all = crossBack(all);
    }
    std::int64_t before = denseWidth_;
    if (kind_ == Kind::kDlrm) {
        before = denseWidth_ > 0 ? dim_ : 0;
        const std::vector<at::Tensor> parts = all.split_with_sizes({before, pairs_.size(0)}, 1);
        all = pairsBack(parts[1]).view({logits.size(0), before + vectorsWidth_});
        if (before > 0) {
            back(bottom_, all.narrow(1, 0, before) + parts[0], false);
        }
    }
    if (!hasVectors) {
        return at::Tensor();
    }
    all = all.narrow(1, before, vectorsWidth_);
    return compute_ == at::kBFloat16 ? all.to(gradients_.scalar_type()) : all;
}

}  // namespace millrace::train
