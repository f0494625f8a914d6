#include "backend/train/torch/device.h"

#include <cstdlib>

#include <dlfcn.h>

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "backend/text/text.h"

namespace millrace::train {
namespace {

/// The directory of the loaded libtorch_cpu.so, with a trailing "/".
std::string torchDirectory() {
    Dl_info info{};
    void* const inside = reinterpret_cast<void*>(&at::globalContext);
    if (::dladdr(inside, &info) == 0 || info.dli_fname == nullptr) {
        return "";
    }
    const std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/') + 1);
}

/// Empty, or why LibTorch's CUDA part is not available.
std::string loadCuda() {
    static const std::string kWhy = [] {
        // Read by cuBLAS at its start: without it matrix products may differ from run to run.
        ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
        const std::string path = torchDirectory() + "libtorch_cuda.so";
        if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) {
            return std::string();
        }
        const char* const why = ::dlerror();
        return std::string(why != nullptr ? why : "it cannot be loaded");
    }();
    return kWhy;
}

template <class Function>
Function cudaFunction(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

Result<at::Device> openDevice(const std::string& name) {
    if (name == "cpu") {
        return at::Device(at::kCPU);
    }
    if (name != "auto" && name != "cuda") {
        return invalidArgument("train.device: '", name, "' is not known; known: auto, cpu, cuda");
    }
    const std::string why = loadCuda();
    const bool hasGpu =
        why.empty() && at::globalContext().hasCUDA() &&
        at::globalContext().getAcceleratorHooksInterface(at::kCUDA).deviceCount() > 0;
    if (hasGpu) {
        at::globalContext().lazyInitDevice(at::kCUDA);
        return at::Device(at::kCUDA, 0);
    }
    if (name == "auto") {
        return at::Device(at::kCPU);
    }
    return failedPrecondition(
        "train.device: cuda: ",
        why.empty() ? "this machine shows no GPU to the run; give it one "
                      "(resources.gpus_per_rank), or train.device: cpu"
                    : strCat("LibTorch's part for GPUs cannot be loaded (", why,
                             "); packaging/setup --gpu brings it, or train.device: cpu"));
}

bool pinMemory(const at::Device& device, void* data, std::size_t size) {
    using Register = int (*)(void*, std::size_t, unsigned);
    if (!device.is_cuda()) {
        return true;
    }
    const auto pin = cudaFunction<Register>("cudaHostRegister");
    return pin != nullptr && pin(data, size, 0) == 0;
}

void unpinMemory(const at::Device& device, void* data) {
    using Unregister = int (*)(void*);
    const auto unpin = device.is_cuda() ? cudaFunction<Unregister>("cudaHostUnregister") : nullptr;
    if (unpin != nullptr) {
        unpin(data);
    }
}

std::int64_t mostMemory(const at::Device& device) {
    constexpr std::size_t kAllPools = 0;
    if (!device.is_cuda()) {
        return 0;
    }
    return c10::getDeviceAllocator(device.type())
        ->getDeviceStats(device.index())
        .allocated_bytes[kAllPools]
        .peak;
}

CopyLane::CopyLane(const at::Device& device) : device_(device) {
    if (device.is_cuda()) {
        const c10::impl::VirtualGuardImpl guard(device.type());
        computing_ = guard.getStream(device);
        lane_ = guard.getNewStream(device);
    }
}

CopyLane::Turn::Turn(const CopyLane& lane) : lane_(lane) {
    if (lane.lane_) {
        before_ = c10::impl::VirtualGuardImpl(lane.device_.type()).exchangeStream(*lane.lane_);
    }
}

CopyLane::Turn::~Turn() {
    if (before_) {
        c10::impl::VirtualGuardImpl(lane_.device_.type()).exchangeStream(*before_);
    }
}

void CopyLane::joinComputing() const {
    if (lane_) {
        c10::Event event(device_.type());
        event.record(*lane_);
        event.block(*computing_);
    }
}

void CopyLane::lend(const at::Tensor& tensor) const {
    if (lane_ && tensor.defined()) {
        tensor.record_stream(*computing_);
    }
}

void CopyLane::finish() const {
    if (lane_) {
        c10::impl::VirtualGuardImpl(device_.type()).synchronizeStream(*lane_);
    }
}

}  // namespace millrace::train
