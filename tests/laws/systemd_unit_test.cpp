// The units of packaging/systemd: systemd reads them without a warning and rates their exposure
// low.
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

// The greatest exposure in tenths, as systemd-analyze takes it.
constexpr const char* kExposureMax = "--threshold=22";

class SystemdUnitTest : public ::testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        SubprocessOptions options;
        options.argv = {"systemd-analyze", "--version"};
        const auto version = Subprocess::run(options);
        if (!version.ok() || version->exitCode != 0) {
            GTEST_SKIP() << "systemd-analyze is not installed";
        }
        const auto text = readFile(strCat(MILLRACE_SOURCE_DIR, "/packaging/systemd/", GetParam()));
        ASSERT_TRUE(text.ok()) << text.status();
        // The installed program is not there; any other program does for this test.
        unit_ = *text;
        const std::string program = "%h/.local/bin/millraced";
        ASSERT_NE(unit_.find(program), std::string::npos);
        unit_.replace(unit_.find(program), program.size(), "/bin/true");
    }
    SubprocessOutput analyze(std::vector<std::string> arguments, const std::string& unit) {
        const std::string path = dir_ / GetParam();
        EXPECT_TRUE(writeFileAtomic(path, unit).ok());
        SubprocessOptions options;
        options.argv = {"systemd-analyze"};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.argv.push_back(path);
        options.environment = {"XDG_RUNTIME_DIR=" + dir_.path()};
        options.timeout = std::chrono::seconds(60);
        const auto output = Subprocess::run(options);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }

    const tests::TempDir dir_;
    std::string unit_;
};

TEST_P(SystemdUnitTest, IsReadWithoutAComplaint) {
    const SubprocessOutput output = analyze({"--user", "verify"}, unit_);
    EXPECT_EQ(output.exitCode, 0);
    EXPECT_EQ(output.out + output.err, "");
}

TEST_P(SystemdUnitTest, LeavesLittleOpen) {
    const SubprocessOutput output = analyze({"security", "--offline=true", kExposureMax}, unit_);
    EXPECT_EQ(output.exitCode, 0) << output.out << output.err;
}

TEST_P(SystemdUnitTest, AnOpenUnitIsSeen) {
    const SubprocessOutput output =
        analyze({"security", "--offline=true", kExposureMax}, "[Service]\nExecStart=/bin/true\n");
    EXPECT_NE(output.exitCode, 0);
}

INSTANTIATE_TEST_SUITE_P(Units, SystemdUnitTest,
                         ::testing::Values("millraced.service", "millrace-agent.service"));

}  // namespace
}  // namespace millrace
