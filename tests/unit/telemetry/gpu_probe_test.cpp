#include <cstdlib>

#include <gtest/gtest.h>

#include "backend/telemetry/probes.h"

namespace millrace::telemetry {
namespace {

TEST(GpuProbe, WithoutTheLibraryItSaysSo) {
    const GpuProbe probe("libno-such-nvml.so.1");
    EXPECT_EQ(probe.note(), "no GPU: libno-such-nvml.so.1 not found");
    EXPECT_TRUE(probe.gpus().empty());
    EXPECT_TRUE(probe.sample().empty());
}

TEST(GpuProbe, ALibraryThatIsNoNvmlIsToldApart) {
    const GpuProbe probe("libc.so.6");
    EXPECT_EQ(probe.note(), "no GPU: libc.so.6 is not an NVML that is known");
}

TEST(GpuProbe, ADriverThatDoesNotStartIsToldInItsOwnWords) {
    ::setenv("FAKE_NVML_FAILS", "1", 1);
    const GpuProbe probe(FAKE_NVML);
    ::unsetenv("FAKE_NVML_FAILS");
    EXPECT_EQ(probe.note(), "no GPU: the driver did not start (Driver Not Loaded)");
}

TEST(GpuProbe, EveryFigureIsReadInItsUnit) {
    const GpuProbe probe(FAKE_NVML);
    ASSERT_EQ(probe.gpus().size(), 2U) << probe.note();
    EXPECT_EQ(probe.note(), "");
    EXPECT_EQ(probe.gpus()[0].name, "Fake H200");
    EXPECT_EQ(probe.gpus()[1].uuid, "GPU-1");
    EXPECT_EQ(probe.gpus()[0].driverVersion, "555.1");
    EXPECT_EQ(probe.gpus()[0].memoryBytes, 100U);
    values::GpuSample expected;
    expected.utilizationPercent = 0;
    expected.memoryUsedBytes = 40;
    expected.memoryTotalBytes = 100;
    expected.powerWatts = 123.5;
    expected.temperatureCelsius = 40;
    EXPECT_EQ(probe.sample()[0], expected);
}

TEST(GpuProbe, WhatADeviceDoesNotTellIsAbsentAndNotZero) {
    const GpuProbe probe(FAKE_NVML);
    const values::GpuSample old = probe.sample().at(1);
    EXPECT_FALSE(old.utilizationPercent.has_value());
    EXPECT_FALSE(old.powerWatts.has_value());
    EXPECT_EQ(old.memoryUsedBytes, 40U);
}

// Runs on a machine with a GPU; elsewhere it says why it does not.
TEST(GpuProbe, ARealGpuHasANameAndMemory) {
    const GpuProbe probe;
    if (probe.gpus().empty()) {
        GTEST_SKIP() << probe.note();
    }
    EXPECT_FALSE(probe.gpus()[0].name.empty());
    const values::GpuSample sample = probe.sample().at(0);
    ASSERT_TRUE(sample.memoryTotalBytes.has_value());
    EXPECT_GT(*sample.memoryTotalBytes, std::uint64_t{1} << 30);
    EXPECT_LE(sample.utilizationPercent.value_or(0), 100);
    EXPECT_LT(sample.powerWatts.value_or(1), 3000);
    RecordProperty("gpu", probe.gpus()[0].name);
}

TEST(GpuProbe, OfItsGpusOnesOwnVisibleDevicesLeaveSome) {
    const GpuProbe probe(FAKE_NVML);
    EXPECT_EQ(usableGpus(probe.gpus(), nullptr), (std::vector<std::string>{"GPU-0", "GPU-1"}));
    EXPECT_EQ(usableGpus(probe.gpus(), "1"), (std::vector<std::string>{"GPU-1"}));
    EXPECT_EQ(usableGpus(probe.gpus(), "GPU-0,7"), (std::vector<std::string>{"GPU-0"}));
    EXPECT_TRUE(usableGpus(probe.gpus(), "").empty());
}

}  // namespace
}  // namespace millrace::telemetry
