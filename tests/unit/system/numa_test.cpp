#include "backend/system/numa.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <sched.h>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

std::vector<int> allowedCpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

TEST(NumaTest, ReadsTheListsOfSysfs) {
    EXPECT_EQ(parseCpuList("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(parseCpuList("5"), std::vector<int>{5});
    for (const char* none : {"", "\n", "3-1", "a", "1-", "1;2", "-1", "0-99999999"}) {
        EXPECT_TRUE(parseCpuList(none).empty()) << none;
    }
}

TEST(NumaTest, NodesAreThoseWithCpusOfThisThread) {
    const std::vector<int> allowed = allowedCpus();
    ASSERT_FALSE(allowed.empty());
    tests::TempDir root;
    const auto node = [&](const std::string& name, const std::string& cpus) {
        std::filesystem::create_directories(root / name);
        std::ofstream(root / (name + "/cpulist")) << cpus << "\n";
    };
    node("node0", std::to_string(allowed.front()));
    node("node1", std::to_string(allowed.back()));
    node("node2", "");
    node("node3", "4000");
    node("power", std::to_string(allowed.front()));
    const auto nodes = numaNodes(root.path());
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0], std::vector<int>{allowed.front()});
    EXPECT_EQ(nodes[1], std::vector<int>{allowed.back()});
    EXPECT_TRUE(numaNodes(root / "missing").empty());
    for (const int worker : {0, 1, 2}) {
        std::thread([&] {
            EXPECT_TRUE(pinToNode(nodes, worker));
            EXPECT_EQ(allowedCpus(), nodes[static_cast<std::size_t>(worker % 2)]);
        }).join();
    }
    EXPECT_EQ(allowedCpus(), allowed) << "only the thread itself is kept";
}

TEST(NumaTest, OneNodeIsLeftToTheKernel) {
    const std::vector<int> allowed = allowedCpus();
    EXPECT_FALSE(pinToNode({allowed}, 0));
    EXPECT_FALSE(pinToNode({}, 0));
    EXPECT_EQ(allowedCpus(), allowed);
}

}  // namespace
}  // namespace millrace
