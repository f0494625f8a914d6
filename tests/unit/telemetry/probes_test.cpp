#include "backend/telemetry/probes.h"

#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/text/utf8.h"
#include "tests/support/fake_clock.h"
#include "tests/support/poll.h"

namespace millrace::telemetry {
namespace {

// A machine made of files.
class HostProbeTest : public ::testing::Test {
 protected:
    HostProbeTest() {
        std::string name =
            (std::filesystem::temp_directory_path() / "millrace-probe-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
        write("proc/stat",
              "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 50 0 50 400 0 0 0 0\n"
              "cpu1 50 0 50 300 100 0 0 0\nintr 5\n");
        write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n");
        write("proc/loadavg", "0.50 1.25 2.00 3/456 789\n");
        write("proc/diskstats",
              "8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n"
              "7 0 loop0 1 0 1000 0 1 0 1000 0 0 0 0\n");
        write("sys/block/sda/device/model", "x");
        write("proc/net/dev",
              "Inter-| Receive\n face |bytes\n"
              "    lo: 9999 0 0 0 0 0 0 0 9999 0 0 0 0 0 0 0\n"
              "  eth0:1000 0 0 0 0 0 0 0 500 0 0 0 0 0 0 0\n");
        write("proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU 9000\n");
        write("proc/sys/kernel/osrelease", "6.1.0-test\n");
        write("etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
    }
    ~HostProbeTest() override { std::filesystem::remove_all(root_); }

    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = root_ + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    HostProbe probe() const {
        return {clock, "/", root_ + "/proc", root_ + "/sys", root_ + "/etc"};
    }

    mutable FakeClock clock;
    std::string root_;
};

TEST_F(HostProbeTest, TheFixedFactsAreRead) {
    const values::NodeInfo info = probe().info();
    EXPECT_EQ(info.os, "Debian GNU/Linux 12");
    EXPECT_EQ(info.kernel, "6.1.0-test");
    EXPECT_EQ(info.cpuModel, "Test CPU 9000");
    EXPECT_EQ(info.memoryBytes, 1000U * 1024);
    EXPECT_GE(info.cores, 1);
    EXPECT_LE(info.cores, 2);
    EXPECT_FALSE(info.name.empty());
}

TEST_F(HostProbeTest, CoresAndMemoryAreThoseThatControlGroupsLeave) {
    write("proc/self/cgroup", "0::/a\n");
    write("sys/fs/cgroup/a/memory.max", "500000\n");
    write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    const values::NodeInfo info = probe().info();
    EXPECT_EQ(info.memoryBytes, 500'000U);
    EXPECT_EQ(info.cores, 1);
}

TEST_F(HostProbeTest, TextsThatAreNoUtf8AreCleaned) {
    write("etc/os-release", "PRETTY_NAME=\"Caf\xe9 Linux\"\n");
    write("proc/sys/kernel/osrelease", "6.1\xff\n");
    write("proc/cpuinfo", "model name\t: CPU\x80\n");
    const values::NodeInfo info = probe().info();
    for (const std::string& text : {info.os, info.kernel, info.cpuModel, info.name}) {
        EXPECT_TRUE(isUtf8(text)) << text;
    }
    EXPECT_EQ(info.os, "Caf\xef\xbf\xbd Linux");
}

TEST_F(HostProbeTest, TheFirstSampleHasLevelsAndNoRates) {
    const values::NodeSample sample = probe().sample();
    EXPECT_EQ(sample.timeMs, clock.wallMs());
    EXPECT_EQ(sample.memoryUsedBytes, 600U * 1024);
    EXPECT_GT(sample.diskTotalBytes.value_or(0), 0U);
    EXPECT_FALSE(sample.cpuPercent.has_value());
    EXPECT_TRUE(sample.corePercent.empty());
    EXPECT_FALSE(sample.diskReadBytesPerSecond.has_value());
    EXPECT_FALSE(sample.networkReceiveBytesPerSecond.has_value());
}

TEST_F(HostProbeTest, RatesAreOverTheTimeBetweenTwoSamples) {
    HostProbe host = probe();
    host.sample();
    write("proc/stat",
          "cpu  160 0 120 800 120 0 0 0 50 0\ncpu0 100 0 70 430 0 0 0 0\n"
          "cpu1 60 0 50 370 120 0 0 0\n");
    write("proc/diskstats",
          "8 0 sda 1 0 30 0 1 0 60 0 0 0 0\n8 1 sda1 1 0 999 0 1 0 999 0 0 0 0\n"
          "7 0 loop0 1 0 9000 0 1 0 9000 0 0 0 0\n");
    write("proc/net/dev",
          "    lo: 99999 0 0 0 0 0 0 0 99999 0 0 0 0 0 0 0\n"
          "  eth0: 3000 0 0 0 0 0 0 0 900 0 0 0 0 0 0 0\n");
    clock.advanceMs(2000);
    const values::NodeSample sample = host.sample();
    EXPECT_DOUBLE_EQ(sample.cpuPercent.value_or(-1), 40);
    ASSERT_EQ(sample.corePercent.size(), 2U);
    EXPECT_DOUBLE_EQ(sample.corePercent[0], 70);
    EXPECT_DOUBLE_EQ(sample.corePercent[1], 10);
    EXPECT_DOUBLE_EQ(sample.diskReadBytesPerSecond.value_or(-1), 20 * 512 / 2.0);
    EXPECT_DOUBLE_EQ(sample.diskWriteBytesPerSecond.value_or(-1), 40 * 512 / 2.0);
    EXPECT_DOUBLE_EQ(sample.networkReceiveBytesPerSecond.value_or(-1), 1000);
    EXPECT_DOUBLE_EQ(sample.networkSendBytesPerSecond.value_or(-1), 200);
}

TEST_F(HostProbeTest, ACounterThatGoesBackGivesNoRate) {
    HostProbe host = probe();
    host.sample();
    write("proc/net/dev", "  eth1: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n");
    clock.advanceMs(1000);
    EXPECT_FALSE(host.sample().networkReceiveBytesPerSecond.has_value());
}

TEST_F(HostProbeTest, AMachineThatTellsNothingGivesAbsentFiguresAndNoZeros) {
    HostProbe host(clock, "/no/such/disk", root_ + "/none", root_ + "/none", root_ + "/none");
    host.sample();
    clock.advanceMs(1000);
    values::NodeSample expected;
    expected.timeMs = clock.wallMs();
    EXPECT_EQ(host.sample(), expected);
}

TEST_F(HostProbeTest, GarbageInTheKernelsFilesIsSurvived) {
    for (const char* name : {"proc/stat", "proc/meminfo", "proc/loadavg", "proc/diskstats",
                             "proc/net/dev", "proc/cpuinfo"}) {
        write(name, std::string("cpu x y z : - -1\n\0:\ncpu0 99999999999999999999 1\n", 45));
    }
    HostProbe host = probe();
    host.sample();
    clock.advanceMs(1000);
    const values::NodeSample sample = host.sample();
    EXPECT_FALSE(sample.memoryUsedBytes.has_value());
    EXPECT_EQ(host.info().cpuModel, "");
}

TEST(ProcessProbe, ATreeOfProcessesIsSummed) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::fork() == 0) {
            ::pause();
        }
        ::pause();
        ::_exit(0);
    }
    TreeUse sample;
    for (int i = 0; i < 2000 && sample.numProcesses < 2; ++i) {
        test::pausePolling(std::chrono::milliseconds(1));
        sample = sampleProcessTree(child);
    }
    EXPECT_EQ(sample.numProcesses, 2);
    EXPECT_GT(sample.pssBytes, 0U);
    const std::string children =
        "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children";
    pid_t grandchild = 0;
    std::ifstream(children) >> grandchild;
    ::kill(grandchild, SIGKILL);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(sampleProcessTree(child).numProcesses, 0);
}

TEST(ProcessProbe, CpuTimeGrowsWithWork) {
    const double before = sampleProcessTree(::getpid()).cpuSeconds;
    volatile double sum = 0;
    double now = before;
    for (int round = 0; round < 1000 && now < before + 0.05; ++round) {
        for (int i = 0; i < 1'000'000; ++i) {
            sum = sum + i;
        }
        now = sampleProcessTree(::getpid()).cpuSeconds;
    }
    EXPECT_GE(now, before + 0.05);
}

}  // namespace
}  // namespace millrace::telemetry
