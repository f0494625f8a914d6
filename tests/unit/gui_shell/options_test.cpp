#include <QProcess>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/console_options.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string problemOf(const std::vector<std::string>& arguments) {
    return std::string(parseConsoleOptions(arguments).status().message());
}

TEST(ConsoleOptions, AreReadInBothForms) {
    const Result<ConsoleOptions> options = parseConsoleOptions(
        {"--connect", "gpu-01:7443", "--connect=/run/x.sock", "--page=data", "--theme", "light",
         "--size", "1920x1080", "--scale", "1.5", "--spec", "a b.yaml", "--screenshot", "out"});
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_THAT(options->connect, ElementsAre("gpu-01:7443", "unix:/run/x.sock"));
    EXPECT_EQ(options->page, PageName::kData);
    EXPECT_EQ(options->theme, ThemeChoice::kLight);
    EXPECT_EQ(options->width, 1920);
    EXPECT_EQ(options->height, 1080);
    EXPECT_EQ(options->scale, 1.5);
    EXPECT_EQ(options->spec, "a b.yaml");
    EXPECT_EQ(options->screenshotDir, "out");
}

TEST(ConsoleOptions, AWrongOneIsNamedWithWhatWouldBeRight) {
    EXPECT_THAT(problemOf({"--conect", "x:1"}), HasSubstr("unknown option '--conect'"));
    EXPECT_THAT(problemOf({"stray"}), HasSubstr("unknown option 'stray'"));
    EXPECT_THAT(problemOf({"--page"}), HasSubstr("--page needs PAGE"));
    EXPECT_THAT(problemOf({"--page", "files"}), HasSubstr("watch, runs, launch, data"));
    EXPECT_THAT(problemOf({"--theme=pink"}), HasSubstr("dark, light, system"));
    EXPECT_THAT(problemOf({"--connect", "nowhere:"}), HasSubstr("unix:PATH or ssh"));
    EXPECT_THAT(problemOf({"--size", "12x"}), HasSubstr("WIDTHxHEIGHT"));
    EXPECT_THAT(problemOf({"--size", "99999x99999"}), HasSubstr("WIDTHxHEIGHT"));
    EXPECT_THAT(problemOf({"--scale", "0"}), HasSubstr("0.5 to 4"));
}

TEST(ConsoleOptions, HelpNamesEveryOptionInNarrowLines) {
    const std::string help = consoleHelp();
    for (const char* option : {"--connect", "--page", "--theme", "--spec", "--screenshot", "--size",
                               "--scale", "--version", "--help"}) {
        EXPECT_THAT(help, HasSubstr(option));
    }
    for (const QString& line : QString::fromStdString(help).split('\n')) {
        EXPECT_LE(line.size(), 80) << line.toStdString();
    }
}

struct Ended {
    int code = -1;
    QByteArray out, err;
};
Ended runProgram(const QStringList& arguments) {
    QProcess process;
    process.start(MILLRACE_BIN_DIR "/millrace-console", arguments);
    process.waitForFinished(60'000);
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

TEST(ConsoleProgram, EndsWithTwoOnAWrongCommandLine) {
    const Ended ended = runProgram({"--frobnicate"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.err.contains("unknown option '--frobnicate'")) << ended.err.constData();
    EXPECT_TRUE(ended.out.isEmpty());
}

TEST(ConsoleProgram, PrintsHelpAndVersion) {
    EXPECT_EQ(runProgram({"--help"}).out, QByteArray::fromStdString(consoleHelp()));
    EXPECT_EQ(runProgram({"--version"}).out,
              QByteArray::fromStdString("millrace-console " + consoleVersion() + "\n"));
}

TEST(ConsoleProgram, AScreenshotWithoutADaemonEndsWithSixAndASentence) {
    const Ended ended =
        runProgram({"--connect", "unix:/nowhere/at-all.sock", "--screenshot", "/tmp"});
    EXPECT_EQ(ended.code, 6);
    EXPECT_TRUE(ended.err.contains("no daemon answers at unix:/nowhere/at-all.sock"))
        << ended.err.constData();
}

TEST(ConsoleProgram, AScreenshotThatCannotBeWrittenEndsWithASentence) {
    const Ended ended = runProgram({"--screenshot", "/proc/nowhere"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_TRUE(ended.err.contains("/proc/nowhere")) << ended.err.constData();
}

}  // namespace
}  // namespace millrace::gui
