#include <filesystem>
#include <set>

#include <unistd.h>

#include "backend/core/status.h"
#include "backend/telemetry/probes.h"
#include "backend/telemetry/proc_files.h"

namespace millrace::telemetry {
namespace {

void addTree(const std::string& procRoot, pid_t pid, std::set<pid_t>& pids) {
    if (!pids.insert(pid).second) {
        return;
    }
    // A child is listed under the thread that forked it.
    std::error_code error;
    std::filesystem::directory_iterator task(strCat(procRoot, "/", pid, "/task"), error), end;
    for (; !error && task != end; task.increment(error)) {
        const std::string children = readProcFile(task->path().string() + "/children");
        for (const std::string_view line : linesOf(children)) {
            for (const std::string_view child : fieldsOf(line)) {
                if (const auto number = unsignedOf(child)) {
                    addTree(procRoot, static_cast<pid_t>(*number), pids);
                }
            }
        }
    }
}

bool addProcess(const std::string& directory, TreeUse& sample) {
    // Fields 14 to 17, counted after the name in brackets, which may hold blanks: user and system
    // time of the process and of its ended children.
    const std::string stat = readProcFile(directory + "/stat");
    const std::size_t nameEnd = stat.rfind(')');
    if (nameEnd == std::string::npos) {
        return false;
    }
    const std::vector<std::string_view> fields =
        fieldsOf(std::string_view(stat).substr(nameEnd + 1));
    constexpr std::size_t kFirst = 11, kLast = 14;
    if (fields.size() <= kLast || fields[0] == "Z") {
        return false;
    }
    std::uint64_t ticks = 0;
    for (std::size_t i = kFirst; i <= kLast; ++i) {
        ticks += unsignedOf(fields[i]).value_or(0);
    }
    sample.cpuSeconds += static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    const std::string rollup = readProcFile(directory + "/smaps_rollup");
    const std::string status = readProcFile(directory + "/status");
    const std::uint64_t rss = kiloBytesOf(status, "VmRSS:").value_or(0);
    sample.pssBytes += kiloBytesOf(rollup, "Pss:").value_or(rss);
    ++sample.numProcesses;
    return true;
}

}  // namespace

TreeUse sampleProcessTree(pid_t root, const std::string& procRoot) {
    std::set<pid_t> pids;
    addTree(procRoot, root, pids);
    TreeUse sample;
    for (const pid_t pid : pids) {
        addProcess(strCat(procRoot, "/", pid), sample);
    }
    return sample;
}

}  // namespace millrace::telemetry
