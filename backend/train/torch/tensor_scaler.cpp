#include "backend/train/torch/tensor_scaler.h"

#include <ATen/ATen.h>

namespace millrace::train {
namespace {

constexpr double kLimit = 5;

}  // namespace

TensorScaler::TensorScaler(std::int64_t width, const at::Device& device)
    : width_(width), device_(device), all_(none()), step_(none()) {
    mean_ = at::zeros({width}, all_.mean.options());
    factor_ = at::ones({width}, all_.mean.options());
}

TensorScaler::Statistics TensorScaler::none() const {
    const at::Tensor zeros = at::zeros({3, width_}, at::TensorOptions(device_).dtype(at::kDouble));
    return {zeros[0], zeros[1], zeros[2]};
}

// Chan's formula.
TensorScaler::Statistics TensorScaler::merged(const Statistics& a, const Statistics& b) {
    const at::Tensor total = a.count + b.count;
    const at::Tensor share = b.count / total.clamp_min(1);
    const at::Tensor delta = b.mean - a.mean;
    return {total, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

TensorScaler::Statistics TensorScaler::statisticsOf(const at::Tensor& dense) const {
    const at::Tensor isNumber = at::isfinite(dense);
    const at::Tensor values = dense.to(at::kDouble);
    Statistics own;
    own.count = isNumber.sum(0).to(at::kDouble);
    own.mean = at::where(isNumber, values, 0.0).sum(0) / own.count.clamp_min(1);
    own.squares = at::where(isNumber, values - own.mean, 0.0).square().sum(0);
    return own;
}

void TensorScaler::observe(const at::Tensor& dense) {
    if (width_ > 0) {
        step_ = merged(step_, statisticsOf(dense));
    }
}

Result<std::vector<TensorScaler::Statistics>> TensorScaler::told(const Statistics& mine,
                                                                 Group& group) const {
    if (group.size() == 1) {
        return std::vector<Statistics>{mine};
    }
    const at::Tensor here = at::stack({mine.count, mine.mean, mine.squares}).cpu().contiguous();
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     group.gather(bytesOfValues(std::span(
                         here.const_data_ptr<double>(), static_cast<std::size_t>(here.numel())))));
    std::vector<Statistics> out;
    for (const std::string& one : all) {
        if (one.size() != here.nbytes()) {
            return internalError("ranks: statistics of another width");
        }
        const at::Tensor theirs =
            at::from_blob(const_cast<char*>(one.data()), {3, width_}, at::kDouble)
                .clone()
                .to(device_);
        out.push_back({theirs[0], theirs[1], theirs[2]});
    }
    return out;
}

Status TensorScaler::start(const at::Tensor& dense, Group& group) {
    isStarted_ = true;
    if (width_ > 0) {
        ASSIGN_OR_RETURN(const std::vector<Statistics> all,
                         told(dense.defined() ? statisticsOf(dense) : none(), group));
        refresh(all[0]);
    }
    return okStatus();
}

Status TensorScaler::endStep(Group& group) {
    if (width_ > 0) {
        ASSIGN_OR_RETURN(const std::vector<Statistics> all, told(step_, group));
        for (const Statistics& one : all) {
            all_ = merged(all_, one);
        }
        step_ = none();
        refresh(all_);
    }
    return okStatus();
}

void TensorScaler::refresh(const Statistics& from) {
    const at::Tensor variance = from.squares / from.count.clamp_min(1);
    mean_ = from.mean;
    factor_ = at::where(variance > from.mean.square() * 1e-12, variance.rsqrt(), 1.0);
}

at::Tensor TensorScaler::scale(const at::Tensor& dense, at::ScalarType type) const {
    if (width_ == 0) {
        return dense.to(type);
    }
    // As in InputScaler: float32, except for models trained in float64.
    const at::ScalarType in = type == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor x = (dense.to(in) - mean_.to(in)) * factor_.to(in);
    return at::where(at::isfinite(dense), x.clamp(-kLimit, kLimit), 0.0).to(type);
}

void TensorScaler::restore(const std::vector<at::Tensor>& statistics) {
    all_ = {statistics[0].to(device_), statistics[1].to(device_), statistics[2].to(device_)};
    step_ = none();
    isStarted_ = width_ > 0 && all_.count.max().item<double>() > 0;
    refresh(all_);
}

}  // namespace millrace::train
