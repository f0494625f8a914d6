#include "app/cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cli/help.h"
#include "backend/filesystem/files.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::vector<std::string>& words) {
    const Result<CommandLine> line = parseCommandLine(words);
    EXPECT_FALSE(line.ok());
    return std::string(messageOf(line.status()));
}

TEST(Parse, OptionsMayStandAnywhere) {
    const auto line = parseCommandLine({"--host", "unix:/a", "run", "a.yaml", "--set", "a=1",
                                        "--set", "b=2", "--detach", "--json"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->command->name, "run");
    EXPECT_THAT(line->args.words, ElementsAre("a.yaml"));
    EXPECT_THAT(line->args.list("--set"), ElementsAre("a=1", "b=2"));
    EXPECT_EQ(line->args.text("--host"), "unix:/a");
    EXPECT_TRUE(line->args.has("--detach"));
    EXPECT_TRUE(line->args.isJson());
}

TEST(Parse, ARepeatedOptionTakesOneWordEach) {
    const auto line = parseCommandLine({"run", "--set", "a=1", "a.yaml"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_THAT(line->args.words, ElementsAre("a.yaml"));
}

TEST(Parse, MistakesNameWhatWasMeant) {
    EXPECT_EQ(refusal({"wach", "r-1"}), "unknown command 'wach'; did you mean 'watch'?");
    EXPECT_EQ(refusal({"ls", "--filtr", "x"}),
              "unknown option '--filtr'; did you mean '--filter'?");
    EXPECT_EQ(refusal({"ls", "--limit", "many"}), "--limit: 'many' is not a whole number from 1");
    EXPECT_EQ(refusal({"metrics", "r-1", "--rank", "x"}),
              "--rank: 'x' is not a whole number from 0");
    EXPECT_EQ(refusal({"ls", "--color", "alway"}),
              "--color: 'alway' is not known; did you mean 'always'?");
    EXPECT_EQ(refusal({"show"}), "millrace show needs RUN; see 'millrace show --help'");
    EXPECT_THAT(refusal({"show", "a", "b"}), HasSubstr("does not know what to do with 'b'"));
    EXPECT_EQ(refusal({"ls", "--limit", "1", "--limit", "2"}), "--limit is given twice");
}

TEST(Parse, AsManyRunsAsAShellTakes) {
    std::vector<std::string> words(5'000, "r-abcde");
    words.insert(words.begin(), "stop");
    const auto line = parseCommandLine(words);
    ASSERT_TRUE(line.ok());
    EXPECT_EQ(line->args.words.size(), 5'000U);
}

TEST(Parse, TheOptionsOfStreamAreCheckedHere) {
    const auto line = parseCommandLine({"stream", "a.yaml", "--threads", "4", "--json"});
    ASSERT_TRUE(line.ok());
    EXPECT_THAT(line->args.words, ElementsAre("a.yaml"));
    EXPECT_EQ(line->args.number("--threads", 0), 4);
    EXPECT_EQ(refusal({"stream", "a.yaml", "--epoch", "1"}),
              "unknown option '--epoch'; did you mean '--epochs'?");
    EXPECT_EQ(refusal({"stream", "a.yaml", "--sink", "nul"}),
              "--sink: 'nul' is not known; did you mean 'null'?");
}

TEST(Parse, HelpIsAskedForInEveryPlace) {
    EXPECT_TRUE(parseCommandLine({"--help"})->wantsHelp);
    EXPECT_TRUE(parseCommandLine({})->wantsHelp);
    EXPECT_TRUE(parseCommandLine({"run", "--help"})->wantsHelp);
    EXPECT_TRUE(parseCommandLine({"stream", "--help"})->wantsHelp);
    EXPECT_EQ(parseCommandLine({"--version"})->command->name, "version");
}

TEST(Help, FitsAnEightyColumnTerminal) {
    const Terminal terminal{true, 80, 0, true};
    std::string all = generalHelp(terminal);
    for (const CommandSpec& command : commandTable()) {
        all += commandHelp(command, terminal);
    }
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        const std::string line = all.substr(at, end - at);
        const bool isExample = line.rfind("  millrace ", 0) == 0;
        EXPECT_TRUE(isExample || displayWidth(line) <= 80) << line;
        at = end + 1;
    }
}

TEST(Help, EveryCommandHasASummaryAnExampleAndAFunction) {
    for (const CommandSpec& command : commandTable()) {
        EXPECT_FALSE(command.summary.empty()) << command.name;
        EXPECT_FALSE(command.examples.empty()) << command.name;
        EXPECT_NE(command.run, nullptr) << command.name;
    }
}

TEST(Help, CompletionScriptsKnowEveryCommandAndOption) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const auto script = completionScript(shell);
        ASSERT_TRUE(script.ok()) << shell;
        for (const CommandSpec& command : commandTable()) {
            EXPECT_THAT(*script, HasSubstr(command.name)) << shell;
        }
        EXPECT_THAT(*script, HasSubstr("all-variations"));
    }
    // `dataset --csv` takes a value, `ls --csv` does not.
    const std::string bash = *completionScript("bash");
    EXPECT_THAT(bash, HasSubstr("\n        dataset\\ --csv) words='file'"));
    EXPECT_THAT(bash, Not(HasSubstr("\n        ls\\ --csv)")));
    EXPECT_THAT(bash, HasSubstr("\n        *\\ --sink) words='hash"));
    EXPECT_THAT(std::string(messageOf(completionScript("basch").status())),
                HasSubstr("did you mean 'bash'?"));
}

TEST(Help, TheReferenceIsWhatTheCommandTableSays) {
    const auto page = readFile(std::string(MILLRACE_SOURCE_DIR) + "/docs/reference/cli.md");
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_TRUE(*page == markdownReference())
        << "docs/reference/cli.md is old: millrace help --markdown > docs/reference/cli.md";
}

}  // namespace
}  // namespace millrace::cli
