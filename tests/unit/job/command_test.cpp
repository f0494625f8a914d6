#include "backend/job/command.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Command : public ::testing::Test {
 protected:
    void SetUp() override {
        for (const char* name : {"bin", "work", "spec"}) {
            std::filesystem::create_directory(folder_ / name);
        }
    }
    std::string file(const std::string& name, int mode) {
        EXPECT_TRUE(writeFileAtomic(folder_ / name, "", static_cast<mode_t>(mode)).ok());
        return folder_ / name;
    }
    std::vector<std::string> resolved(const std::vector<std::string>& command) {
        const auto found = resolveCommand(command, place_);
        return found.ok() ? *found : std::vector{std::string(messageOf(found.status()))};
    }

    const tests::TempDir folder_;
    const CommandPlace place_{"/nonexistent:" + folder_ / "bin", folder_ / "work",
                              folder_ / "spec"};
};

TEST_F(Command, ABareNameIsLookedForInThePathAndAnotherFromTheSpecsDirectory) {
    const std::string inPath = file("bin/tool", 0700), beside = file("spec/tool", 0700);
    EXPECT_THAT(resolved({"tool", "-x"}), ElementsAre(inPath, "-x"));
    EXPECT_THAT(resolved({"./tool"}), ElementsAre(beside));
    EXPECT_THAT(resolved({inPath}), ElementsAre(inPath));
    file("bin/text", 0600);
    EXPECT_THAT(resolved({"text"}), ElementsAre(HasSubstr("program 'text' was not found in PATH")));
    EXPECT_THAT(resolved({"python3 train.py"}),
                ElementsAre(HasSubstr("; a command is a list, one item for each word")));
    EXPECT_THAT(resolved({"./none"}),
                ElementsAre(HasSubstr("spec/none is not a program that can be started")));
    EXPECT_THAT(resolved({""}), ElementsAre(HasSubstr("program '' was not found")));
    EXPECT_THAT(resolved({}), ElementsAre("command: is empty"));
}

TEST_F(Command, AScriptThatIsNotInTheWorkingDirectoryIsTheOneBesideTheSpec) {
    const std::string tool = file("bin/tool", 0700), beside = file("spec/train.py", 0600);
    EXPECT_THAT(resolved({"tool", "-u", "train.py", "train.py"}),
                ElementsAre(tool, "-u", beside, "train.py"));
    file("work/train.py", 0600);
    EXPECT_THAT(resolved({"tool", "-u", "train.py"}), ElementsAre(tool, "-u", "train.py"));
    EXPECT_THAT(resolved({"tool", "-m", "package.train"}),
                ElementsAre(tool, "-m", "package.train"));
    EXPECT_THAT(resolved({"tool", "other.py"}), ElementsAre(HasSubstr("there is no other.py in")));
}

TEST_F(Command, AScriptThatIsMissingIsReportedForEachInterpreter) {
    const std::string tool = file("bin/tool", 0700);
    for (const char* script : {"none.py", "none.sh", "steps/none.sh"}) {
        EXPECT_THAT(resolved({"tool", script, "ok"}),
                    ElementsAre(HasSubstr(strCat("there is no ", script, " in"))));
        EXPECT_THAT(resolved({"tool", "-u", script}), ElementsAre(HasSubstr("there is no ")));
        EXPECT_THAT(resolved({"tool", "-c", script}), ElementsAre(tool, "-c", script))
            << "the text of a command line";
    }
}

}  // namespace
}  // namespace millrace::job
