// NVML's C ABI as far as GpuProbe uses it, with fixed figures. FAKE_NVML_FAILS in the environment
// makes nvmlInit_v2 fail as a broken driver does.
#include <stdlib.h>
#include <string.h>

typedef int* Device;
static int devices[2] = {0, 1};

enum { kOk = 0, kNotSupported = 3, kDriverNotLoaded = 9 };

int nvmlInit_v2(void) {
    return getenv("FAKE_NVML_FAILS") != NULL ? kDriverNotLoaded : kOk;
}
int nvmlShutdown(void) {
    return kOk;
}
const char* nvmlErrorString(int code) {
    return code == kDriverNotLoaded ? "Driver Not Loaded" : "Not Supported";
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    strncpy(text, "555.1", length);
    return kOk;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 2;
    return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    *device = &devices[index];
    return kOk;
}
int nvmlDeviceGetName(Device device, char* text, unsigned length) {
    strncpy(text, *device == 0 ? "Fake H200" : "Fake Old", length);
    return kOk;
}
int nvmlDeviceGetUUID(Device device, char* text, unsigned length) {
    strncpy(text, *device == 0 ? "GPU-0" : "GPU-1", length);
    return kOk;
}
int nvmlDeviceGetMemoryInfo(Device device, unsigned long long* amounts) {
    (void)device;
    amounts[0] = 100, amounts[1] = 60, amounts[2] = 40;
    return kOk;
}
int nvmlDeviceGetUtilizationRates(Device device, unsigned* rates) {
    rates[0] = 0, rates[1] = 7;
    return *device == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
    *milliwatts = 123500;
    return *device == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* degrees) {
    *degrees = 40 + sensor;
    return *device == 0 ? kOk : kNotSupported;
}
