#include "backend/system/numa.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include <sched.h>

namespace millrace {

namespace {

constexpr int kCpusMost = 4096;  // lists in sysfs have at most this many

bool takeNumber(std::string_view& text, int& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number >= kCpusMost) {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

}  // namespace

std::vector<int> parseCpuList(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.remove_suffix(1);
    }
    std::vector<int> cpus;
    while (!text.empty()) {
        int first = 0;
        if (!takeNumber(text, first)) {
            return {};
        }
        int last = first;
        if (!text.empty() && text.front() == '-') {
            text.remove_prefix(1);
            if (!takeNumber(text, last) || last < first) {
                return {};
            }
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
        if (!text.empty() && text.front() != ',') {
            return {};
        }
        text.remove_prefix(text.empty() ? 0 : 1);
    }
    return cpus;
}

#if defined(__linux__)

std::vector<std::vector<int>> numaNodes(const std::string& root) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return {};
    }
    std::map<std::string, std::vector<int>> nodes;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
        const std::string name = entry.path().filename().string();
        if (name.size() < 5 || name.compare(0, 4, "node") != 0 || name[4] < '0' || name[4] > '9') {
            continue;
        }
        std::string text;
        std::ifstream in(entry.path() / "cpulist");
        std::getline(in, text);
        std::vector<int> cpus = parseCpuList(text);
        std::erase_if(
            cpus, [&allowed](int cpu) { return cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed); });
        if (!cpus.empty()) {
            nodes.emplace(name, std::move(cpus));
        }
    }
    std::vector<std::vector<int>> all;
    for (auto& [name, cpus] : nodes) {
        all.push_back(std::move(cpus));
    }
    return all;
}

bool pinToNode(const std::vector<std::vector<int>>& nodes, int worker) {
    if (nodes.size() < 2) {
        return false;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : nodes[static_cast<std::size_t>(worker) % nodes.size()]) {
        CPU_SET(cpu, &set);
    }
    return ::sched_setaffinity(0, sizeof(set), &set) == 0;
}

#else

std::vector<std::vector<int>> numaNodes(const std::string&) {
    return {};
}

bool pinToNode(const std::vector<std::vector<int>>&, int) {
    return false;
}

#endif

}  // namespace millrace
