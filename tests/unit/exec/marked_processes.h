#pragma once
// Real processes under test: each carries a mark of this test in its environment, so that the test
// can find those that are left in /proc and end them.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/text/json.h"
#include "tests/support/poll.h"

namespace millrace::test {

inline std::string readText(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Null when the file is not there.
inline Json readJson(const std::string& path) {
    const auto json = parseJson(readText(path), path);
    return json.ok() ? *json : Json();
}

class MarkedProcessTest : public ::testing::Test {
 protected:
    MarkedProcessTest() {
        std::string name =
            (std::filesystem::temp_directory_path() / "millrace-exec-XXXXXX").string();
        directory_ = ::mkdtemp(name.data());
        mark_ = "MR_TEST_MARK=" + directory_;
        ::setenv("MR_TEST_MARK", directory_.c_str(), 1);
    }
    ~MarkedProcessTest() override {
        for (const pid_t pid : marked()) {
            ::kill(pid, SIGKILL);
        }
        ::unsetenv("MR_TEST_MARK");
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    std::string file(const std::string& name) const { return directory_ + "/" + name; }
    static std::string execProgram() { return std::string(MILLRACE_BIN_DIR) + "/millrace-exec"; }

    /// Living processes that carry the mark (this one does not: its environ is as it was started).
    std::vector<pid_t> marked() const {
        std::vector<pid_t> pids;
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
            const pid_t pid = std::atoi(entry.path().filename().c_str());
            if (pid > 0 &&
                readText(entry.path().string() + "/environ").find(mark_) != std::string::npos) {
                pids.push_back(pid);
            }
        }
        return pids;
    }
    bool nothingLeft(std::chrono::milliseconds limit = std::chrono::seconds(20)) const {
        return eventually([&] { return marked().empty(); }, limit);
    }
    /// A script that starts a child in another session, reports that in `FILE`, and runs for ever.
    /// `onTerm`: its answer to SIGTERM ("" ignores it).
    std::string foreverScript(const std::string& ready, const std::string& onTerm) const {
        return "setsid sleep 4343 & trap '" + onTerm + "' TERM; echo up > " + file(ready) +
               "; while :; do sleep 0.05; done";
    }
    bool isReady(const std::string& ready) const {
        return eventually([&] { return readText(file(ready)) == "up\n"; });
    }

 private:
    std::string directory_, mark_;
};

}  // namespace millrace::test
