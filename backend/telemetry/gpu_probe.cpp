#include <array>
#include <cstdlib>

#include <dlfcn.h>

#include "backend/core/status.h"
#include "backend/telemetry/probes.h"
#include "backend/text/utf8.h"

namespace millrace::telemetry {
namespace {

// The declarations of NVML's stable C ABI that are used here; its header is not needed.
using Device = struct NvmlDevice*;
constexpr int kSuccess = 0;
constexpr unsigned kTemperatureGpu = 0;

struct Memory {
    unsigned long long total, free, used;
};
struct Utilization {
    unsigned gpu, memory;
};

}  // namespace

struct GpuProbe::Nvml {
    void* library = nullptr;
    std::vector<Device> devices;

    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*errorString)(int) = nullptr;
    int (*driverVersion)(char*, unsigned) = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Device*) = nullptr;
    int (*name)(Device, char*, unsigned) = nullptr;
    int (*uuid)(Device, char*, unsigned) = nullptr;
    int (*memory)(Device, Memory*) = nullptr;
    int (*utilization)(Device, Utilization*) = nullptr;
    int (*power)(Device, unsigned*) = nullptr;
    int (*temperature)(Device, unsigned, unsigned*) = nullptr;

    template <class Function>
    void load(Function& function, const char* symbol) {
        function = reinterpret_cast<Function>(::dlsym(library, symbol));
    }
    /// Returns false if the library lacks a function that the probe requires.
    bool loadAll() {
        load(init, "nvmlInit_v2");
        load(shutdown, "nvmlShutdown");
        load(errorString, "nvmlErrorString");
        load(driverVersion, "nvmlSystemGetDriverVersion");
        load(count, "nvmlDeviceGetCount_v2");
        load(handle, "nvmlDeviceGetHandleByIndex_v2");
        load(name, "nvmlDeviceGetName");
        load(uuid, "nvmlDeviceGetUUID");
        load(memory, "nvmlDeviceGetMemoryInfo");
        load(utilization, "nvmlDeviceGetUtilizationRates");
        load(power, "nvmlDeviceGetPowerUsage");
        load(temperature, "nvmlDeviceGetTemperature");
        return init != nullptr && shutdown != nullptr && count != nullptr && handle != nullptr;
    }
    std::string errorText(int code) const {
        const char* text = errorString == nullptr ? nullptr : errorString(code);
        return text == nullptr ? strCat("error ", code) : toUtf8(text);
    }
    ~Nvml() {
        if (library != nullptr) {
            ::dlclose(library);
        }
    }

    std::string text(int (*function)(Device, char*, unsigned), Device device) const {
        std::array<char, 128> buffer{};
        if (function == nullptr || function(device, buffer.data(), buffer.size() - 1) != kSuccess) {
            return "";
        }
        return toUtf8(buffer.data());
    }
    values::GpuInfo info(int index, Device device, const std::string& driver) const {
        values::GpuInfo info;
        info.index = index;
        info.name = text(name, device);
        info.uuid = text(uuid, device);
        info.driverVersion = driver;
        Memory amounts{};
        if (memory != nullptr && memory(device, &amounts) == kSuccess) {
            info.memoryBytes = amounts.total;
        }
        return info;
    }
    /// A number that may be unavailable: the function is missing, or this device refuses it.
    template <class Function, class... Which>
    static std::optional<double> number(double scale, Function function, Device device,
                                        Which... which) {
        unsigned value = 0;
        if (function == nullptr || function(device, which..., &value) != kSuccess) {
            return std::nullopt;
        }
        return value * scale;
    }
    values::GpuSample sample(int index, Device device) const {
        values::GpuSample sample;
        sample.index = index;
        Utilization use{};
        if (utilization != nullptr && utilization(device, &use) == kSuccess) {
            sample.utilizationPercent = use.gpu;
        }
        Memory amounts{};
        if (memory != nullptr && memory(device, &amounts) == kSuccess) {
            sample.memoryUsedBytes = amounts.used;
            sample.memoryTotalBytes = amounts.total;
        }
        constexpr double kMilli = 1e-3;
        sample.powerWatts = number(kMilli, power, device);
        sample.temperatureCelsius = number(1, temperature, device, kTemperatureGpu);
        return sample;
    }
};

std::string nvmlLibrary() {
    const char* named = std::getenv("MILLRACE_NVML_LIBRARY");
    return named == nullptr || *named == '\0' ? "libnvidia-ml.so.1" : named;
}

std::vector<std::string> usableGpus(const std::vector<values::GpuInfo>& gpus, const char* visible) {
    std::vector<std::string> usable;
    const std::string list = strCat(",", visible == nullptr ? "" : visible, ",");
    for (const values::GpuInfo& gpu : gpus) {
        const std::string name = gpu.uuid.empty() ? std::to_string(gpu.index) : gpu.uuid;
        const bool isVisible = visible == nullptr ||
                               list.find(strCat(",", gpu.index, ",")) != std::string::npos ||
                               list.find(strCat(",", name, ",")) != std::string::npos;
        if (isVisible) {
            usable.push_back(name);
        }
    }
    return usable;
}

GpuProbe::GpuProbe(const std::string& library) {
    auto nvml = std::make_unique<Nvml>();
    nvml->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == nullptr) {
        note_ = strCat("no GPU: ", library, " not found");
        return;
    }
    if (!nvml->loadAll()) {
        note_ = strCat("no GPU: ", library, " is not an NVML that is known");
        return;
    }
    unsigned count = 0;
    int code = nvml->init();
    if (code != kSuccess) {
        note_ = strCat("no GPU: the driver did not start (", nvml->errorText(code), ")");
        return;
    }
    code = nvml->count(&count);
    std::array<char, 96> driver{};
    if (nvml->driverVersion != nullptr) {
        (void)nvml->driverVersion(driver.data(), driver.size() - 1);
    }
    for (unsigned i = 0; code == kSuccess && i < count; ++i) {
        Device device = nullptr;
        if (nvml->handle(i, &device) == kSuccess) {
            nvml->devices.push_back(device);
            gpus_.push_back(nvml->info(static_cast<int>(i), device, toUtf8(driver.data())));
        }
    }
    if (gpus_.empty()) {
        note_ = code == kSuccess ? "no GPU: the driver lists none"
                                 : strCat("no GPU: ", nvml->errorText(code));
        nvml->shutdown();
        return;
    }
    nvml_ = std::move(nvml);
}

GpuProbe::~GpuProbe() {
    if (nvml_ != nullptr) {
        nvml_->shutdown();
    }
}

std::vector<values::GpuSample> GpuProbe::sample() const {
    std::vector<values::GpuSample> samples;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
        samples.push_back(nvml_->sample(gpus_[i].index, nvml_->devices[i]));
    }
    return samples;
}

}  // namespace millrace::telemetry
