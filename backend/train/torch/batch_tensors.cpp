#include "backend/train/torch/batch_tensors.h"

#include <ATen/ATen.h>

namespace millrace::train {
namespace {

class Mover {
 public:
    Mover(const BatchView& batch, const at::Device& device) : batch_(batch), device_(device) {
        if (batch.frame) {
            frame_ = host(batch.frame, static_cast<std::int64_t>(batch.frameBytes), at::kByte)
                         .to(device, true);
        }
    }

    /// Views `count` values of a column.
    template <class T>
    at::Tensor column(const T* values, std::int64_t count, at::ScalarType type) const {
        if (!frame_.defined()) {
            return host(values, count, type).to(device_, true, true);
        }
        const std::int64_t at = reinterpret_cast<const std::byte*>(values) - batch_.frame;
        return count == 0
                   ? at::empty({0}, at::TensorOptions(device_).dtype(type))
                   : frame_.narrow(0, at, count * static_cast<std::int64_t>(sizeof(T))).view(type);
    }

 private:
    static at::Tensor host(const void* values, std::int64_t count, at::ScalarType type) {
        // LibTorch has no const tensors; nobody writes into these.
        return at::from_blob(const_cast<void*>(values), {count}, type);
    }
    const BatchView& batch_;
    const at::Device device_;
    at::Tensor frame_;
};

IdTensors idsOf(const IdColumn& column, std::int64_t rows, const Mover& mover) {
    IdTensors out;
    out.items = column.items < 0 ? rows : column.items;
    const std::int64_t count = column.offsets ? column.offsets[out.items] : out.items;
    out.values = mover.column(column.values, count, at::kLong);
    if (column.offsets) {
        out.offsets = mover.column(column.offsets, out.items + 1, at::kLong);
    }
    if (column.inverse) {
        out.inverse = mover.column(column.inverse, rows, at::kUInt32).to(at::kLong);
    }
    if (column.weights) {
        out.weights = mover.column(column.weights, count, at::kFloat);
    }
    return out;
}

}  // namespace

BatchTensors tensorsOf(const BatchView& batch, const at::Device& device) {
    const Mover mover(batch, device);
    BatchTensors out;
    out.rows = batch.rows;
    std::vector<at::Tensor> dense;
    for (const DenseColumn& column : batch.dense) {
        dense.push_back(mover.column(column.values, batch.rows * column.width, at::kFloat)
                            .view({batch.rows, column.width}));
    }
    out.dense = dense.empty()
                    ? at::empty({batch.rows, 0}, at::TensorOptions(device).dtype(at::kFloat))
                : dense.size() == 1 ? dense[0]
                                    : at::cat(dense, 1);
    for (const IdColumn& column : batch.ids) {
        out.ids.push_back(idsOf(column, batch.rows, mover));
    }
    for (const HeadColumn& head : batch.heads) {
        HeadTensors& to = out.heads.emplace_back();
        to.labels = mover.column(head.labels, batch.rows, at::kFloat);
        if (head.weights) {
            to.weights = mover.column(head.weights, batch.rows, at::kFloat);
        }
        if (head.masks) {
            to.masks = mover.column(head.masks, batch.rows, at::kByte);
        }
    }
    return out;
}

}  // namespace millrace::train
