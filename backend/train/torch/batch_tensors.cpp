#include "backend/train/torch/batch_tensors.h"

#include <type_traits>

#include <ATen/ATen.h>

namespace millrace::train {
namespace {

class Mover {
 public:
    Mover(const BatchView& batch, const at::Device& device, bool wantsIds)
        : batch_(batch), device_(device) {
        if (batch.frame && (wantsIds || !device.is_cpu())) {
            const at::Tensor frame =
                host(batch.frame, static_cast<std::int64_t>(batch.frameBytes), at::kByte)
                    .to(device, true);
            longs_ = as(frame, at::kLong, sizeof(std::int64_t));
            floats_ = as(frame, at::kFloat, sizeof(float));
        }
    }

    /// Views `count` values of a column.
    template <class T>
    at::Tensor column(const T* values, std::int64_t count) const {
        constexpr bool kIsLong = std::is_same_v<T, std::int64_t>;
        if (!longs_.defined()) {
            const at::Tensor here = host(values, count, kIsLong ? at::kLong : at::kFloat);
            return device_.is_cpu() ? here : here.to(device_, true, true);
        }
        const auto at =
            static_cast<std::size_t>(reinterpret_cast<const std::byte*>(values) - batch_.frame);
        return (kIsLong ? longs_ : floats_)
            .as_strided({count}, {1}, count == 0 ? 0 : static_cast<std::int64_t>(at / sizeof(T)));
    }

    /// As column(), as int64.
    at::Tensor inverse(const std::uint32_t* values, std::int64_t count) const {
        return column(reinterpret_cast<const float*>(values), count)
            .view(at::kUInt32)
            .to(at::kLong);
    }

 private:
    static at::Tensor host(const void* values, std::int64_t count, at::ScalarType type) {
        // LibTorch has no const tensors; nobody writes into these.
        return at::from_blob(const_cast<void*>(values), {count}, type);
    }
    // A frame may end within a value, but no column does.
    static at::Tensor as(const at::Tensor& frame, at::ScalarType type, std::int64_t size) {
        return frame.narrow(0, 0, frame.numel() / size * size).view(type);
    }
    const BatchView& batch_;
    const at::Device device_;
    at::Tensor longs_, floats_;  ///< the frame on the device; undefined: columns by themselves
};

IdTensors idsOf(const IdColumn& column, std::int64_t rows, const Mover& mover) {
    IdTensors out;
    out.items = column.items < 0 ? rows : column.items;
    out.count = column.offsets ? column.offsets[out.items] : out.items;
    out.values = mover.column(column.values, out.count);
    if (column.offsets) {
        out.offsets = mover.column(column.offsets, out.items + 1);
    }
    if (column.inverse) {
        out.inverse = mover.inverse(column.inverse, rows);
    }
    if (column.weights) {
        out.weights = mover.column(column.weights, out.count);
    }
    return out;
}

void fillLabels(const BatchView& batch, const at::Device& device, BatchTensors& out) {
    const auto heads = static_cast<std::int64_t>(batch.heads.size());
    out.labels = at::empty({batch.rows, heads}, at::kDouble);
    out.weights = at::empty({batch.rows, heads}, at::kDouble);
    auto* const labels = out.labels.data_ptr<double>();
    auto* const weights = out.weights.data_ptr<double>();
    for (std::int64_t h = 0; h < heads; ++h) {
        const HeadColumn& head = batch.heads[static_cast<std::size_t>(h)];
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            const double given = head.weights ? head.weights[r] : 1;
            const double weight = head.masks && !head.masks[r] ? 0 : given;
            weights[r * heads + h] = weight;
            labels[r * heads + h] = weight == 0 ? 0 : head.labels[r];
        }
    }
    if (!device.is_cpu()) {
        out.labels = out.labels.to(device);
        out.weights = out.weights.to(device);
    }
}

}  // namespace

BatchTensors tensorsOf(const BatchView& batch, const at::Device& device, bool wantsIds) {
    const Mover mover(batch, device, wantsIds);
    BatchTensors out;
    out.rows = batch.rows;
    std::vector<at::Tensor> dense;
    for (const DenseColumn& column : batch.dense) {
        dense.push_back(mover.column(column.values, batch.rows * column.width)
                            .view({batch.rows, column.width}));
    }
    out.dense = dense.empty()
                    ? at::empty({batch.rows, 0}, at::TensorOptions(device).dtype(at::kFloat))
                : dense.size() == 1 ? dense[0]
                                    : at::cat(dense, 1);
    for (std::size_t f = 0; wantsIds && f < batch.ids.size(); ++f) {
        out.ids.push_back(idsOf(batch.ids[f], batch.rows, mover));
    }
    fillLabels(batch, device, out);
    return out;
}

}  // namespace millrace::train
