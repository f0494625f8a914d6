#include "daemon/worker/exec/log.h"
#include "tests/unit/exec/marked_processes.h"

namespace millrace::exec {
namespace {

class WorkerLogTest : public test::MarkedProcessTest {
 protected:
    std::string directory() const {
        std::filesystem::create_directories(file("w"));
        return file("w");
    }
    /// Lines without their times.
    std::vector<std::string> lines(const std::string& name = "out.log") const {
        std::vector<std::string> all;
        std::istringstream text(test::readText(file("w/" + name)));
        for (std::string line; std::getline(text, line);) {
            all.push_back(line.size() > 25 ? line.substr(25) : line);
        }
        return all;
    }
};

using Lines = std::vector<std::string>;

TEST_F(WorkerLogTest, PiecesOfALineAreJoinedAndStreamsKeptApart) {
    WorkerLog log(directory(), 1 << 20);
    log.add('o', "a");
    log.add('e', "x\n");
    log.add('o', "b\n\nc");
    EXPECT_EQ(lines(), (Lines{"e x", "o ab", "o "}));
    log.flush();
    EXPECT_EQ(lines().back(), "o c");
    log.flush();
    EXPECT_EQ(lines().size(), 4U);
}

TEST_F(WorkerLogTest, CarriageReturnsEndLinesToo) {
    WorkerLog log(directory(), 1 << 20);
    log.add('o', "10%\r20%\r");
    log.add('o', "\n30%\r\nend\n");
    EXPECT_EQ(lines(), (Lines{"o 10%", "o 20%", "o 30%", "o end"}));
}

TEST_F(WorkerLogTest, AnOverlongLineIsCutAndSaysHowMuch) {
    WorkerLog log(directory(), 1 << 20);
    log.add('o', std::string(kLineBytesMax - 1, 'x'));
    log.add('o', "yyy\nnext\n");
    const Lines all = lines();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0], "o " + std::string(kLineBytesMax - 1, 'x') + "y [2 bytes cut]");
    EXPECT_EQ(all[1], "o next");
}

TEST_F(WorkerLogTest, RotationBoundsTheFilesAndKeepsCountOfTheOffset) {
    constexpr std::int64_t kMax = 2000;
    WorkerLog log(directory(), kMax);
    for (int i = 0; i < 500; ++i) {
        log.add('o', "line " + std::to_string(i) + "\n");
    }
    const std::string now = test::readText(file("w/out.log"));
    const std::string before = test::readText(file("w/out.log.1"));
    EXPECT_LE(now.size(), static_cast<std::size_t>(kMax));
    EXPECT_LE(before.size(), static_cast<std::size_t>(kMax));
    const auto offsetOf = [](const std::string& first) {
        EXPECT_EQ(first.rfind("m log-offset ", 0), 0U) << first;
        return std::stoll(first.substr(13));
    };
    EXPECT_EQ(offsetOf(lines()[0]),
              offsetOf(lines("out.log.1")[0]) + static_cast<std::int64_t>(before.size()));
    EXPECT_EQ(lines().back(), "o line 499");
    EXPECT_EQ(log.numDropped(), 0);
}

TEST_F(WorkerLogTest, LostLinesAreCountedInTheLogOnceThereIsRoom) {
    std::filesystem::create_symlink("/dev/full", directory() + "/out.log");
    WorkerLog log(file("w"), 1 << 20);
    log.add('o', "a\nb\n");
    EXPECT_EQ(log.numDropped(), 2);
}

}  // namespace
}  // namespace millrace::exec
