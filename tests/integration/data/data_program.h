#pragma once
// A feed with data workers, all of them real processes that meet over a real socket.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/feed/feed_reader.h"
#include "backend/filesystem/files.h"
#include "backend/stream/read_state.h"
#include "tests/integration/loader/loader_program.h"
#include "tests/support/poll.h"

namespace millrace {

class DataProgram : public LoaderProgram {
 protected:
    void SetUp() override {
        LoaderProgram::SetUp();
        ASSERT_EQ(::mkdir((directory_ / "own").c_str(), 0700), 0);
    }

    std::string socket() const { return directory_ / "own/feed.sock"; }
    std::string joinFile() const { return directory_ / "own/data.join"; }
    /// The log of a process, by its name.
    std::string said(const std::string& name) const {
        return readFile(directory_ / (name + ".log")).value_or("");
    }
    std::size_t numSaid(const std::string& name, const std::string& text) const {
        const std::string all = said(name);
        std::size_t count = 0;
        for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) {
            ++count;
        }
        return count;
    }

    std::unique_ptr<Subprocess> start(const std::string& name,
                                      const std::vector<std::string>& arguments,
                                      int stdoutFd = -1) const {
        SubprocessOptions options;
        options.argv = {loaderProgram()};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache",
                               "MILLRACE_LOG=debug", "MR_NODE=" + name};
        options.stderrFd = ::open((directory_ / (name + ".log")).c_str(),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        options.stdoutFd = stdoutFd;
        auto child = Subprocess::start(options);
        ::close(options.stderrFd);
        EXPECT_TRUE(child.ok()) << child.status();
        return child.ok() ? std::make_unique<Subprocess>(std::move(*child)) : nullptr;
    }
    /// `workers`: data_workers.min and max. If min is 0 and no worker has joined, the feed computes
    /// itself.
    void startFeed(const std::string& workers = "{min: 1, max: 8}",
                   std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {
            "feed",     "--spec", directory_ / "spec.yaml",
            "--socket", socket(), "--join-file",
            joinFile(), "--set",  "resources.data_workers=" + workers};
        arguments.insert(arguments.end(), more.begin(), more.end());
        feed_ = start("feed", arguments);
    }
    std::unique_ptr<Subprocess> startWorker(const std::string& name = "worker") const {
        return start(name, {"data", "--join", joinFile(), "--wait", "20", "--threads", "1"});
    }
    void awaitJoined(std::size_t workers) const {
        ASSERT_TRUE(test::eventually([&] {
            return numSaid("feed", "data: worker joined") >= workers;
        })) << said("feed")
            << said("worker");
    }

    /// Reads the stream to its end as a rank; returns the reader's report.
    Json readStream(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {"ring-reader", "--socket", socket(), "--reads"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const SubprocessOutput output = run(arguments);
        EXPECT_EQ(output.exitCode, 0) << output.err << said("feed");
        const auto json = parseJson(output.out, "the reader's sums");
        return json.ok() ? *json : Json::object();
    }
    void expectSame(const Json& seen, const Json& streamed) const {
        EXPECT_EQ(seen["order_hash"], streamed["order_hash"]);
        EXPECT_EQ(seen["checksum"], streamed["checksum"]);
    }
    static void expectEnd(std::unique_ptr<Subprocess>& process, int code) {
        int exitCode = -1;
        EXPECT_TRUE(test::eventually([&] {
            const auto ended = process->poll(exitCode);
            return !ended.ok() || *ended;
        }));
        EXPECT_EQ(exitCode, code);
    }

    std::unique_ptr<Subprocess> feed_;
};

}  // namespace millrace
