#include "backend/job/attempt_paths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "backend/core/status.h"

namespace millrace::job {

std::string rankName(int rank) {
    return strCat("rank", rank);
}

std::optional<int> rankOf(std::string_view worker) {
    constexpr std::string_view kPrefix = "rank";
    int rank = 0;
    const char* const end = worker.data() + worker.size();
    const bool isRank = worker.starts_with(kPrefix) && worker.size() > kPrefix.size() &&
                        std::from_chars(worker.data() + kPrefix.size(), end, rank).ptr == end;
    return isRank && rank >= 0 ? std::optional(rank) : std::nullopt;
}

AttemptPaths AttemptPaths::ofJob(const std::string& jobPath) {
    return AttemptPaths(std::filesystem::path(jobPath).parent_path().string());
}

std::string AttemptPaths::worker(std::string_view name) const {
    // A job.json that was named without a folder lies in the working directory.
    return directory_.empty() ? std::string(name) : strCat(directory_, "/", name);
}

std::vector<std::string> AttemptPaths::workers() const {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
        if (std::filesystem::exists(entry.path() / "out.log", error)) {
            found.push_back(entry.path().filename().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

RunPaths::RunPaths(std::string_view root, std::string_view runId)
    : directory_(strCat(root, "/", runId)) {}

AttemptPaths RunPaths::attempt(int number) const {
    return AttemptPaths(strCat(directory_, "/a", number));
}

std::vector<int> RunPaths::attempts() const {
    std::vector<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
        const std::string name = entry.path().filename().string();
        int number = 0;
        const char* end = name.data() + name.size();
        const bool isAttempt = name.size() > 1 && name[0] == 'a' &&
                               std::from_chars(name.data() + 1, end, number).ptr == end;
        if (isAttempt) {
            found.push_back(number);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace millrace::job
