#include "backend/job/attempt_paths.h"

#include <algorithm>
#include <filesystem>

#include "backend/core/status.h"
#include "backend/text/numbers.h"

namespace millrace::job {

std::string feedName(int feed) {
    return feed == 0 ? std::string(kFeed) : strCat(kFeed, feed);
}

std::string rankName(int rank) {
    return strCat("rank", rank);
}

namespace {

// Accepts only digits, and only values that fit into an int.
std::optional<int> countOf(std::string_view digits) {
    return digits.starts_with('-') ? std::nullopt : parseNumber<int>(digits);
}

}  // namespace

std::optional<int> rankOf(std::string_view worker) {
    constexpr std::string_view kPrefix = "rank";
    return worker.starts_with(kPrefix) ? countOf(worker.substr(kPrefix.size())) : std::nullopt;
}

std::optional<PartOfAttempt> attemptOf(std::string_view key) {
    const std::size_t dot = key.rfind(".a");
    if (dot == std::string_view::npos || dot == 0) {
        return std::nullopt;
    }
    const auto attempt = countOf(key.substr(dot + 2));
    return attempt.has_value()
               ? std::optional(PartOfAttempt{std::string(key.substr(0, dot)), *attempt, 0})
               : std::nullopt;
}

std::optional<PartOfAttempt> partOf(std::string_view key, char letter) {
    const std::size_t dot = key.rfind('.');
    if (dot == std::string_view::npos || !key.substr(dot + 1).starts_with(letter)) {
        return std::nullopt;
    }
    const auto attempt = attemptOf(key.substr(0, dot));
    const auto number = countOf(key.substr(dot + 2));
    return attempt.has_value() && number.has_value()
               ? std::optional(PartOfAttempt{attempt->run, attempt->attempt, *number})
               : std::nullopt;
}

std::optional<PartOfAttempt> ownerOf(std::string_view key) {
    auto owner = attemptOf(key);
    for (const char letter : {'p', 'd'}) {
        owner = owner.has_value() ? owner : partOf(key, letter);
    }
    return owner;
}

AttemptPaths AttemptPaths::ofJob(const std::string& jobPath) {
    return AttemptPaths(std::filesystem::path(jobPath).parent_path().string());
}

std::string AttemptPaths::worker(std::string_view name) const {
    // A job.json given without a folder is in the working directory.
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
    std::ranges::sort(found);
    return found;
}

RunPaths::RunPaths(std::string_view root, std::string_view runId)
    : directory_(strCat(root, "/", runId)) {}

std::string RunPaths::sharedCheckpoints() const {
    std::error_code error;
    return std::filesystem::read_symlink(checkpoints(), error).string();
}

AttemptPaths RunPaths::attempt(int number) const {
    return AttemptPaths(strCat(directory_, "/a", number));
}

std::vector<int> RunPaths::attempts() const {
    std::vector<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
        const std::string name = entry.path().filename().string();
        const auto number =
            name.starts_with('a') ? countOf(std::string_view(name).substr(1)) : std::nullopt;
        if (number) {
            found.push_back(*number);
        }
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace millrace::job
