#pragma once
// Where a learner's tensors lie, and what is asked of a GPU without CUDA's headers.
//
// GPU support is found at run time: libtorch_cuda.so beside the libtorch_cpu.so that runs is loaded
// when a GPU is asked for, and c10's generic streams and events do the rest. Threads: one owner.
// Failure: a sentence.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "backend/core/status.h"

namespace millrace::train {

/// "cpu", "cuda" (the first that is visible), or "auto": cuda where there is one, else cpu. Loads
/// LibTorch's CUDA part.
Result<at::Device> openDevice(const std::string& name);

/// Makes `[data, data + size)` pinned, so that copies from it do not hold up the caller; false
/// where that cannot be. Of a device that is none, true.
bool pinMemory(const at::Device& device, void* data, std::size_t size);
void unpinMemory(const at::Device& device, void* data);

/// The most bytes that LibTorch had in use on a device so far; 0 of a CPU.
std::int64_t mostMemory(const at::Device& device);

/// A second stream of a device, on which batches are brought there while the first one computes. On
/// a CPU all happens at once.
class CopyLane {
 public:
    explicit CopyLane(const at::Device& device);

    /// While it lives, what is asked of the device goes to the lane.
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

    /// The computing stream goes on behind what the lane was asked for so far.
    void joinComputing() const;
    /// The computing stream uses `tensor`, which the lane made.
    void lend(const at::Tensor& tensor) const;
    /// Waits until the lane has done all that it was asked for.
    void finish() const;

 private:
    at::Device device_;
    std::optional<c10::Stream> lane_, computing_;
};

}  // namespace millrace::train
