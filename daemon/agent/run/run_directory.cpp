#include "daemon/agent/run/run_directory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/files.h"
#include "backend/core/unique_fd.h"

namespace millrace::agent {
namespace {

constexpr off_t kMostEventBytes = 256 << 10;

Json readJsonFile(const std::string& path) {
    const Result<std::string> text = readFile(path);
    if (!text.ok()) {
        return nullptr;
    }
    const Result<Json> json = parseJson(*text, path);
    return json.ok() ? *json : Json(nullptr);
}

}  // namespace

std::string RunDirectory::attemptPath(int attempt) const {
    return strCat(path_, "/a", attempt);
}

Status RunDirectory::prepare(int attempt) const {
    RETURN_IF_ERROR(makeDirectories(checkpointsPath(), 0700));
    return makeDirectories(attemptPath(attempt), 0700);
}

Status RunDirectory::writeJob(int attempt, const std::string& text) const {
    return writeFileAtomic(jobPath(attempt), text, 0600);
}

Status RunDirectory::writeAttempt(int attempt, const Json& facts) const {
    return writeFileAtomic(attemptPath(attempt) + "/attempt.json", dumpJson(facts), 0600);
}

Json RunDirectory::readAttempt(int attempt) const {
    Json facts = readJsonFile(attemptPath(attempt) + "/attempt.json");
    return facts.is_object() ? facts : readJsonFile(jobPath(attempt));
}

Status RunDirectory::writeSubmitFacts(const SubmitFacts& facts) const {
    RETURN_IF_ERROR(makeDirectories(path_, 0700));
    const Json json = {{"file_name", facts.fileName},
                       {"git_branch", facts.gitBranch},
                       {"git_remote", facts.gitRemote},
                       {"sets", facts.sets}};
    return writeFileAtomic(path_ + "/submit.json", dumpJson(json), 0600);
}

SubmitFacts RunDirectory::readSubmitFacts() const {
    const Json json = readJsonFile(path_ + "/submit.json");
    SubmitFacts facts;
    facts.fileName = jsonString(json, "file_name");
    facts.gitBranch = jsonString(json, "git_branch");
    facts.gitRemote = jsonString(json, "git_remote");
    for (const Json& set : jsonMember(json, "sets")) {
        facts.sets.push_back(set.is_string() ? set.get<std::string>() : "");
    }
    return facts;
}

Status RunDirectory::writeDone(int attempt, const Json& done) const {
    return writeFileAtomic(attemptPath(attempt) + "/done.json", dumpJson(done), 0600);
}

Json RunDirectory::readDone(int attempt) const {
    return readJsonFile(attemptPath(attempt) + "/done.json");
}

Status RunDirectory::writeStop(int attempt, std::int64_t deadlineMs) const {
    const Json stop = {{"deadline", formatTime(deadlineMs)}};
    return writeFileAtomic(attemptPath(attempt) + "/stop.json", dumpJson(stop), 0600);
}

std::optional<std::int64_t> RunDirectory::readStop(int attempt) const {
    const Json stop = readJsonFile(attemptPath(attempt) + "/stop.json");
    const Result<std::int64_t> deadline = parseTime(jsonString(stop, "deadline"));
    return deadline.ok() ? std::optional(*deadline) : std::nullopt;
}

void RunDirectory::addEvent(const RunEvent& event) const {
    const std::string path = path_ + "/events.jsonl";
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0 || info.st_size > kMostEventBytes) {
        return;
    }
    const Json json = {{"time", formatTime(event.timeMs)}, {"text", event.text}};
    const std::string line = dumpJson(json) + "\n";
    const ssize_t n = ::write(fd.get(), line.data(), line.size());
    if (n >= 0 && n < static_cast<ssize_t>(line.size())) {
        // A full disk took a piece: the next line must not be glued to it.
        [[maybe_unused]] const int cut = ::ftruncate(fd.get(), info.st_size);
    }
}

std::vector<RunEvent> RunDirectory::readEvents() const {
    std::vector<RunEvent> events;
    const Result<std::string> text = readFile(path_ + "/events.jsonl");
    if (!text.ok()) {
        return events;
    }
    std::istringstream lines(*text);
    std::string line;
    while (std::getline(lines, line)) {
        const Result<Json> json = parseJson(line, "events.jsonl");
        if (json.ok()) {
            const Result<std::int64_t> time = parseTime(jsonString(*json, "time"));
            events.push_back({time.ok() ? *time : 0, jsonString(*json, "text")});
        }
    }
    return events;
}

std::vector<int> RunDirectory::attempts() const {
    std::vector<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
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

std::vector<std::string> RunDirectory::workers(int attempt) const {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(attemptPath(attempt), error)) {
        if (std::filesystem::exists(entry.path() / "out.log", error)) {
            found.push_back(entry.path().filename().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace millrace::agent
