#include "backend/schedule/fifo.h"

#include <algorithm>

#include "backend/core/status.h"
#include "backend/core/text.h"

namespace millrace::schedule {
namespace {

// Fractions of cores add up with rounding errors.
constexpr double kCpuSlack = 1e-6;

std::string shortage(const Resources& needs, const Resources& has, std::string_view of) {
    if (needs.cpus > has.cpus + kCpuSlack) {
        return strCat("needs ", needs.cpus, " cores, ", has.cpus, " ", of);
    }
    if (needs.gpus > has.gpus) {
        return strCat("needs ", needs.gpus, " GPUs, ", has.gpus, " ", of);
    }
    return strCat("needs ", formatBytes(static_cast<double>(needs.memoryBytes)), " of memory, ",
                  formatBytes(static_cast<double>(has.memoryBytes)), " ", of);
}

// "2nd of 7 in the queue".
std::string placeText(std::size_t place, std::size_t of) {
    const bool isTeen = place % 100 / 10 == 1;
    const std::size_t last = isTeen ? 0 : place % 10;
    const char* ending = last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
    return strCat(place, ending, " of ", of, " in the queue");
}

std::vector<QueuedJob> byPriority(const std::vector<QueuedJob>& queue) {
    std::vector<QueuedJob> sorted = queue;
    std::stable_sort(sorted.begin(), sorted.end(), [](const QueuedJob& a, const QueuedJob& b) {
        return a.priority > b.priority;
    });
    return sorted;
}

}  // namespace

Resources& Resources::operator+=(const Resources& other) {
    cpus += other.cpus;
    gpus += other.gpus;
    memoryBytes += other.memoryBytes;
    return *this;
}

Resources& Resources::operator-=(const Resources& other) {
    cpus = std::max(0.0, cpus - other.cpus);
    gpus = std::max(0, gpus - other.gpus);
    memoryBytes -= std::min(memoryBytes, other.memoryBytes);
    return *this;
}

bool Resources::fitsIn(const Resources& other) const {
    return cpus <= other.cpus + kCpuSlack && gpus <= other.gpus && memoryBytes <= other.memoryBytes;
}

Decision decide(const std::vector<QueuedJob>& queue, const std::vector<RunningJob>& running,
                const Supply& supply) {
    Decision decision;
    Resources free = supply.total;
    for (const RunningJob& job : running) {
        free -= job.holds;
    }
    auto numRunning = static_cast<int>(running.size());
    for (const QueuedJob& job : byPriority(queue)) {
        if (!job.needs.fitsIn(supply.total)) {
            decision.neverFits.push_back({job.id, shortage(job.needs, supply.total, "in all")});
        } else if (!decision.waiting.empty()) {
            decision.waiting.push_back({job.id, ""});  // the first that waits holds back the rest
        } else if (supply.maxRunning > 0 && numRunning >= supply.maxRunning) {
            decision.waiting.push_back(
                {job.id, strCat(numRunning, " runs are going, which is the limit")});
        } else if (!job.needs.fitsIn(free)) {
            decision.waiting.push_back({job.id, shortage(job.needs, free, "free")});
        } else {
            decision.start.push_back(job.id);
            free -= job.needs;
            ++numRunning;
        }
    }
    for (std::size_t i = 1; i < decision.waiting.size(); ++i) {
        decision.waiting[i].reason = placeText(i + 1, decision.waiting.size());
    }
    return decision;
}

}  // namespace millrace::schedule
