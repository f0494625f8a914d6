#pragma once
// The device of a learner's tensors: access to a GPU without CUDA's headers.
//
// GPU support is found at run time: when a GPU is asked for, libtorch_cuda.so is loaded from beside
// the loaded libtorch_cpu.so. c10's generic streams and events do the rest. Threads: one owner.
// Failure: an error with the reason.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "backend/core/status.h"

namespace millrace::train {

/// "cpu", "cuda" (the first visible GPU), or "auto": cuda if there is a GPU, else cpu. Loads
/// LibTorch's CUDA part.
Result<at::Device> openDevice(const std::string& name);

/// Pins `[data, data + size)`, so that copies from it do not block the caller; false if that fails.
/// Returns true for a CPU, which needs none.
bool pinMemory(const at::Device& device, void* data, std::size_t size);
void unpinMemory(const at::Device& device, void* data);

/// Peak bytes that LibTorch used on a device so far; 0 for a CPU.
std::int64_t mostMemory(const at::Device& device);

/// A second stream of a device that copies batches there while the first stream computes. On a CPU
/// everything runs at once.
class CopyLane {
 public:
    explicit CopyLane(const at::Device& device);

    /// While it lives, work for the device goes to the lane.
    class Turn {
     public:
        explicit Turn(const CopyLane& lane);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

     private:
        const CopyLane& lane_;
        std::optional<c10::Stream> before_;
    };

    /// Makes the computing stream wait for all work on the lane so far.
    void joinComputing() const;
    /// Marks `tensor`, which the lane made, as used by the computing stream.
    void lend(const at::Tensor& tensor) const;
    /// Waits until the lane has done all its work.
    void finish() const;

 private:
    at::Device device_;
    std::optional<c10::Stream> lane_, computing_;
};

}  // namespace millrace::train
