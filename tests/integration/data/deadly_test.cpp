// A segment takes more memory than a worker's control group allows: the kernel kills each worker
// that computes it.
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/integration/data/data_program.h"

namespace millrace {
namespace {

/// A control group with a memory limit, of version 1 or 2; does nothing if this user may not make
/// one.
class MemoryGroup {
 public:
    static std::optional<MemoryGroup> make(const std::string& name, std::int64_t bytes) {
        for (const auto& [root, limit] :
             {std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
              std::pair("/sys/fs/cgroup", "memory.max")}) {
            const std::string folder = strCat(root, "/millrace-test-", name, "-", ::getpid());
            if (::mkdir(folder.c_str(), 0700) != 0) {
                continue;
            }
            MemoryGroup made(folder);
            std::ofstream out(folder + "/" + limit);
            if (out << bytes << std::flush) {
                return made;
            }
        }
        return std::nullopt;
    }
    MemoryGroup(MemoryGroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
    MemoryGroup& operator=(MemoryGroup&&) = delete;
    ~MemoryGroup() {
        if (!folder_.empty()) {
            EXPECT_TRUE(test::eventually([&] { return ::rmdir(folder_.c_str()) == 0; }));
        }
    }
    /// Shell text that moves the shell into the group.
    std::string enter() const { return strCat("echo $$ > ", folder_, "/cgroup.procs && "); }

 private:
    explicit MemoryGroup(std::string folder) : folder_(std::move(folder)) {}
    std::string folder_;
};

class DeadlySegment : public DataProgram {
 protected:
    // 256 rows, one split, with lists of 60,000 members: half a gigabyte as ids in frames.
    void SetUp() override {
        DataProgram::SetUp();
        std::string tags = "a";
        for (int i = 1; i < 60'000; ++i) {
            tags += "|b";
        }
        std::ofstream out(directory_ / "part-1.csv");
        out << "user,value,label,tags\n";
        for (int r = 0; r < 2000; ++r) {
            const bool isLarge = r >= 1024 && r < 1280;
            out << r % 37 << ',' << 3 * r + 1 << ',' << r % 2 << ',' << (isLarge ? tags : "a|b")
                << '\n';
        }
    }
    std::unique_ptr<Subprocess> startWithin(const MemoryGroup& group,
                                            const std::string& name) const {
        SubprocessOptions options;
        options.argv = {"/bin/sh", "-c",
                        group.enter() + "exec \"$0\" data --join \"$1\" --wait 20 --threads 1",
                        loaderProgram(), joinFile()};
        options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache"};
        options.stderrFd = ::open((directory_ / (name + ".log")).c_str(),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        auto child = Subprocess::start(options);
        ::close(options.stderrFd);
        EXPECT_TRUE(child.ok()) << child.status();
        return child.ok() ? std::make_unique<Subprocess>(std::move(*child)) : nullptr;
    }
};

TEST_F(DeadlySegment, OnWhichWorkersDieEndsTheStreamByNameAndNotTheFeed) {
    constexpr std::int64_t kLimit = 160 << 20;
    std::vector<MemoryGroup> groups;
    for (const char* name : {"a", "b", "c"}) {
        if (std::optional<MemoryGroup> group = MemoryGroup::make(name, kLimit)) {
            groups.push_back(std::move(*group));
        } else {
            GTEST_SKIP() << "this user may not make control groups here";
        }
    }
    startFeed("{min: 1, max: 3}");
    std::vector<std::unique_ptr<Subprocess>> workers;
    for (const MemoryGroup& group : groups) {
        workers.push_back(startWithin(group, "worker"));
    }
    awaitJoined(groups.size());
    const SubprocessOutput read = run({"ring-reader", "--socket", socket(), "--reads"});
    EXPECT_NE(read.exitCode, 0);
    EXPECT_NE(read.err.find("data workers died computing it"), std::string::npos) << read.err;
    EXPECT_NE(read.err.find("part-1.csv row group 4 rows 1024 to 1279"), std::string::npos)
        << read.err;
    // A third worker may get a second copy of the segment that the first is late with, so both may
    // be killed by it.
    int numKilled = 0;
    for (const std::unique_ptr<Subprocess>& worker : workers) {
        int code = -1;
        EXPECT_TRUE(test::eventually([&] { return *worker->poll(code); }));
        numKilled += code == 128 + SIGKILL ? 1 : 0;
    }
    EXPECT_GE(numKilled, 2);
    int exitCode = 0;
    EXPECT_TRUE(test::eventually([&] { return *feed_->poll(exitCode); }));
    EXPECT_GT(exitCode, 0) << "it ended by itself: " << said("feed");
}

}  // namespace
}  // namespace millrace
