#include "backend/system/agent_script.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/pid_scope.h"
#include "backend/system/subprocess.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

// A home with programs; its agent prints its arguments.
class AgentScriptTest : public ::testing::Test {
 protected:
    AgentScriptTest() {
        makeProgram("millrace", "");
        makeProgram("millraced", "echo \"$*\"");
    }
    void makeProgram(const std::string& name, const std::string& body) {
        const std::string directory = home_ / ".local/bin";
        std::filesystem::create_directories(directory);
        std::ofstream(directory + "/" + name) << "#!/bin/sh\n" << body << "\n";
        std::filesystem::permissions(directory + "/" + name, std::filesystem::perms::owner_all);
    }
    /// The arguments with which the agent is started.
    std::string run() {
        SubprocessOptions options;
        options.argv = {"/bin/sh", "-s"};
        options.environment = {"HOME=" + home_.path(),
                               "PATH=" + home_.path() + "/.local/bin:/usr/bin:/bin",
                               "XDG_STATE_HOME="};
        options.input = agentScript("it's", "token\n");
        options.timeout = std::chrono::seconds(30);
        const Result<SubprocessOutput> output = Subprocess::run(options);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? output->err + output->out : "";
    }
    tests::TempDir home_;
};

TEST_F(AgentScriptTest, HostsThatShareAHomeHaveAgentsInPlacesOfTheirOwn) {
    const PidScope here = PidScope::ofThisProcess();
    std::string place = strCat(home_.path(), "/.local/state/millrace-node-", here.host);
    if (!here.machine.empty()) {
        strAppend(&place, "-", here.machine.substr(0, 8));
    }
    EXPECT_EQ(run(),
              strCat("--slot --join ", place, "/nodes.join --name it's --state-dir ", place, "\n"));
    EXPECT_EQ(readFile(place + "/nodes.join").value(), "token\n");
}

}  // namespace
}  // namespace millrace
