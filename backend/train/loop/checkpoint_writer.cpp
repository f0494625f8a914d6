#include "backend/train/loop/checkpoint_writer.h"

#include <cstring>
#include <utility>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/core/thread.h"

namespace millrace::train {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t placeFor(std::int64_t bytes) {
    return (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
    wait();
}

CheckpointWriter::Outcome CheckpointWriter::write(CheckpointOrder order,
                                                  const std::vector<TensorRef>& tensors) {
    Result<CheckpointFile> file = writeCheckpoint(order.directory, order.name, order.meta, tensors);
    if (file.ok() && order.isBest) {
        const auto directory = checkpoint::CheckpointDirectory::open(order.directory);
        const Status kept = directory.ok() ? directory->linkAsBest(order.name) : directory.status();
        file = kept.ok() ? std::move(file) : Result<CheckpointFile>(kept);
    }
    return {std::move(order), std::move(file)};
}

std::vector<TensorRef> CheckpointWriter::copied(const std::vector<TensorRef>& tensors) {
    std::size_t bytes = kAlignment;
    for (const TensorRef& tensor : tensors) {
        bytes += placeFor(tensor.numBytes());
    }
    if (bytes > keptBytes_) {
        kept_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        keptBytes_ = bytes;
    }
    const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(kept_.get()) % kAlignment;
    std::byte* place = kept_.get() + (misplaced == 0 ? 0 : kAlignment - misplaced);
    std::vector<TensorRef> out = tensors;
    for (TensorRef& tensor : out) {
        std::memcpy(place, tensor.data, static_cast<std::size_t>(tensor.numBytes()));
        tensor.data = place;
        place += placeFor(tensor.numBytes());
    }
    return out;
}

void CheckpointWriter::begin(CheckpointOrder order, const std::vector<TensorRef>& tensors) {
    INVARIANT(!thread_.joinable(), "one checkpoint is written at a time");
    hasEnded_ = false;
    thread_ = startThread("checkpoint", [this, order = std::move(order),
                                         tensors = copied(tensors)](std::stop_token) mutable {
        outcome_.emplace(write(std::move(order), tensors));
        hasEnded_ = true;
    });
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::wait() {
    if (thread_.joinable()) {
        thread_.join();
    }
    hasEnded_ = false;
    return std::exchange(outcome_, std::nullopt);
}

}  // namespace millrace::train
