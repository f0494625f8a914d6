#include "daemon/agent/run/run_directory.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/ids.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/directories.h"
#include "backend/filesystem/files.h"
#include "backend/text/text.h"

namespace millrace::agent {
namespace {

constexpr off_t kMostEventBytes = 256 << 10;
// Job, guardians' records, first lines of logs and the store's journal.
constexpr std::uint64_t kStartBytes = 1'000'000;

Json readJsonFile(const std::string& path) {
    const Result<std::string> text = readFile(path);
    if (!text.ok()) {
        return nullptr;
    }
    const Result<Json> json = parseJson(*text, path);
    return json.ok() ? *json : Json(nullptr);
}

}  // namespace

std::string RunDirectory::inAttempt(int attempt, const char* name) const {
    return strCat(paths_.attempt(attempt).directory(), "/", name);
}

void AttemptStart::follow(std::int64_t lastStep, bool isCounted, const std::string& reason) {
    restarts += isCounted ? 1 : 0;
    failure = isCounted ? reason : "";
    failedStep = lastStep;
    if (lastStep > resumeStep) {
        idleAttempts = lostAttempts = 0;
    } else {
        ++(isCounted ? idleAttempts : lostAttempts);
    }
}

Status RunDirectory::checkRoom() const {
    const std::string root = path().substr(0, path().rfind('/'));
    return millrace::checkRoom(root, kStartBytes, "a start");
}

Status RunDirectory::create() const {
    return makeDirectories(path(), 0700);
}

Status RunDirectory::prepare(int attempt, const std::string& shared) const {
    std::error_code error;
    const auto there = std::filesystem::symlink_status(checkpointsPath(), error);
    if (!shared.empty() && there.type() == std::filesystem::file_type::not_found) {
        // Another daemon may use the same directory.
        const std::string name = path().substr(path().rfind('/') + 1);
        const std::string place = strCat(shared, "/", name, "-", newRunId(8).substr(2));
        RETURN_IF_ERROR(makeDirectories(place, 0700));
        if (::symlink(place.c_str(), checkpointsPath().c_str()) != 0) {
            return errnoStatus(errno, checkpointsPath());
        }
    }
    RETURN_IF_ERROR(makeDirectories(checkpointsPath(), 0700));
    return makeDirectories(paths_.attempt(attempt).directory(), 0700);
}

bool RunDirectory::hasFile(const rank::RankLine& line) const {
    const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.body);
    return checkpoint == nullptr || !paths_.sharedCheckpoints().empty() ||
           ::access(strCat(checkpointsPath(), "/", checkpoint->name).c_str(), F_OK) == 0;
}

Status RunDirectory::writeAttempt(int attempt, const AttemptStart& start) const {
    const Json json = {{"resume_step", start.resumeStep},     {"from_step", start.fromStep},
                       {"restarts", start.restarts},          {"idle_attempts", start.idleAttempts},
                       {"lost_attempts", start.lostAttempts}, {"failure", start.failure},
                       {"failed_step", start.failedStep}};
    return writeFileAtomic(inAttempt(attempt, "attempt.json"), dumpJson(json), 0600);
}

AttemptStart RunDirectory::readAttempt(int attempt) const {
    const Json json = readJsonFile(inAttempt(attempt, "attempt.json"));
    AttemptStart start;
    start.resumeStep = jsonInt(json, "resume_step");
    start.fromStep = jsonInt(json, "from_step");
    start.restarts = jsonInt(json, "restarts");
    start.idleAttempts = static_cast<int>(jsonInt(json, "idle_attempts"));
    start.lostAttempts = static_cast<int>(jsonInt(json, "lost_attempts"));
    start.failure = jsonString(json, "failure");
    start.failedStep = jsonInt(json, "failed_step");
    return start;
}

Status RunDirectory::writeScript(int attempt, const Json& script) const {
    return writeFileAtomic(inAttempt(attempt, "script.json"), dumpJson(script), 0600);
}

Json RunDirectory::readScript(int attempt) const {
    return readJsonFile(inAttempt(attempt, "script.json"));
}

Status RunDirectory::writeDiff(const std::string& diff) const {
    RETURN_IF_ERROR(create());
    return writeFileAtomic(path() + "/changes.diff", diff, 0600);
}

std::string RunDirectory::diffPath() const {
    const std::string file = path() + "/changes.diff";
    return ::access(file.c_str(), F_OK) == 0 ? file : "";
}

Status RunDirectory::writeDone(int attempt, const Json& done) const {
    return writeFileAtomic(inAttempt(attempt, "done.json"), dumpJson(done), 0600);
}

Json RunDirectory::readDone(int attempt) const {
    return readJsonFile(inAttempt(attempt, "done.json"));
}

Status RunDirectory::writeStop(int attempt, std::int64_t deadlineMs) const {
    const Json stop = {{"deadline", formatTime(deadlineMs)}};
    return writeFileAtomic(inAttempt(attempt, "stop.json"), dumpJson(stop), 0600);
}

std::optional<std::int64_t> RunDirectory::readStop(int attempt) const {
    const Json stop = readJsonFile(inAttempt(attempt, "stop.json"));
    const Result<std::int64_t> deadline = parseTime(jsonString(stop, "deadline"));
    return deadline.ok() ? std::optional(*deadline) : std::nullopt;
}

std::chrono::milliseconds RunDirectory::graceLeft(int attempt, std::int64_t nowMs) const {
    constexpr std::int64_t kLeastMs = 15'000, kMostMs = 3'600'000;
    const std::int64_t leftMs = readStop(attempt).value_or(nowMs) - nowMs;
    return std::chrono::milliseconds(std::clamp(leftMs, kLeastMs, kMostMs));
}

void RunDirectory::addEvent(const values::RunEvent& event) const {
    const std::string file = path() + "/events.jsonl";
    UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0 || info.st_size > kMostEventBytes) {
        return;
    }
    const Json json = {{"time", formatTime(event.timeMs)}, {"text", event.text}};
    const std::string line = dumpJson(json) + "\n";
    const ssize_t n = ::write(fd.get(), line.data(), line.size());
    if (n >= 0 && n < static_cast<ssize_t>(line.size())) {
        // A full disk took part of a line: removes it, so that the next line does not join it.
        [[maybe_unused]] const int cut = ::ftruncate(fd.get(), info.st_size);
    }
}

std::vector<values::RunEvent> RunDirectory::readEvents() const {
    std::vector<values::RunEvent> events;
    const Result<std::string> text = readFile(path() + "/events.jsonl");
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

}  // namespace millrace::agent
