// The tree keeps the laws on lines, and the laws find each planted offence.
#include "tests/laws/line_laws.h"

#include <gtest/gtest.h>

#include "tests/laws/result_law.h"

namespace millrace::laws {
namespace {

// The number of laws in the tables that a line breaks.
std::size_t broken(const std::string& path, const std::string& line) {
    std::size_t count = 0;
    for (const auto* laws : {&guiLaws(), &productLaws(), &testLaws()}) {
        for (const LineLaw& law : *laws) {
            count += checkLines({{path, line + "\n"}}, law).size();
        }
    }
    return count;
}

std::string keptBy(const std::vector<LineLaw>& laws) {
    const std::vector<SourceFile> files = readTree(MILLRACE_SOURCE_DIR);
    std::string offences;
    for (const LineLaw& law : laws) {
        offences += describe(checkLines(files, law)) + describe(checkExceptions(files, law));
    }
    return offences;
}

TEST(LineLaws, TheConsoleKeepsThem) {
    EXPECT_EQ(keptBy(guiLaws()), "");
}

TEST(LineLaws, ProductsKeepThem) {
    EXPECT_EQ(keptBy(productLaws()), "");
}

TEST(LineLaws, TestsKeepThem) {
    EXPECT_EQ(keptBy(testLaws()), "");
}

TEST(LineLaws, NoResultIsTakenUnseen) {
    const auto offences = checkResults(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(LineLaws, AnExceptionThatNoLineNeedsIsSeen) {
    LineLaw law = guiLaws().front();
    law.exceptions = {{"app/gui/a.cpp", "worker", "a reason"}};
    const std::string line = "std::jthread worker;\n";
    EXPECT_TRUE(checkLines({{"app/gui/a.cpp", line}}, law).empty());
    EXPECT_TRUE(checkExceptions({{"app/gui/a.cpp", line}}, law).empty());
    EXPECT_EQ(checkExceptions({{"app/gui/a.cpp", "int x;\n"}}, law).size(), 1U);
    EXPECT_EQ(checkLines({{"app/gui/b.cpp", line}}, law).size(), 1U);
}

TEST(LineLaws, AThreadOrACallOfTheDaemonInAPageIsSeen) {
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "std::jthread worker;"), 1U);
    EXPECT_EQ(broken("app/gui/models/a.h", "client::DaemonClient& client_;"), 1U);
    EXPECT_EQ(broken("app/gui/bridge/a.cpp", "std::jthread worker;"), 0U);
}

TEST(LineLaws, ABoxThatBlocksTheWindowIsSeen) {
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "box->exec();"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "QMessageBox::question(this);"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "dialog->open();"), 0U);
}

TEST(LineLaws, ADialogByValueThatBlocksIsSeen) {
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "dialog.exec();"), 1U);
    EXPECT_EQ(broken("app/gui/bridge/a.cpp", "QDialog::exec();"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "connect(a, &A::b, box, &QDialog::exec);"), 1U);
}

TEST(LineLaws, AMenuThatBlocksIsSeen) {
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "menu.exec(pos);"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "menu->exec(event->globalPos());"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "exec(pos);"), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "executed();  // exec() would block"), 0U);
}

TEST(LineLaws, AStyleSheetInTheConsoleIsSeen) {
    EXPECT_EQ(broken("app/gui/widgets/a.cpp", "view->setStyleSheet(text);"), 1U);
    EXPECT_EQ(broken("app/gui/widgets/a.cpp", "setLook(*view, \"bare\");"), 0U);
    EXPECT_EQ(broken("tests/gui/a.cpp", "view->setStyleSheet(text);"), 0U);
}

TEST(LineLaws, APageThatRunsAProcessIsSeen) {
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "#include \"backend/system/subprocess.h\""), 1U);
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "QProcess process;"), 1U);
    EXPECT_EQ(broken("app/gui/bridge/a.cpp", "#include \"backend/system/subprocess.h\""), 0U);
}

TEST(LineLaws, APageThatOpensAFileIsSeen) {
    for (const char* line :
         {"std::ifstream in(path);", "QFile file(path);", "FILE* f = fopen(path, \"r\");",
          "const int fd = ::open(path, 0);", "#include \"backend/filesystem/files.h\"",
          "const auto text = readFile(path);", "for (auto& e : std::filesystem::path(p)) {"}) {
        EXPECT_EQ(broken("app/gui/pages/a.cpp", line), 1U) << line;
    }
    EXPECT_EQ(broken("app/gui/pages/a.cpp", "QFileInfo(path).fileName(); page->open(path);"), 0U);
}

TEST(LineLaws, LinuxCallsInTheAppAreSeen) {
    EXPECT_EQ(broken("app/gui/a.cpp", "if (::pipe2(ends, O_CLOEXEC) != 0) {"), 1U);
    EXPECT_EQ(broken("app/cli/a.cpp", "const int fd = eventfd(0, 0);"), 1U);
    EXPECT_EQ(broken("app/cli/a.cpp", "readFile(\"/proc/self/stat\");"), 1U);
    EXPECT_EQ(broken("app/cli/a.cpp", "items.splice(a, b); if (::pipe(ends) != 0) {"), 0U);
    EXPECT_EQ(broken("daemon/agent/a.cpp", "::pipe2(ends, O_CLOEXEC);"), 0U);
}

TEST(LineLaws, AProductThatSleepsIsSeen) {
    EXPECT_EQ(broken("backend/ring/a.cpp", "std::this_thread::sleep_for(kPause);"), 1U);
    EXPECT_EQ(broken("backend/ring/a.cpp", "ring_.sleep(seen, ns);"), 0U);
}

TEST(LineLaws, AUmaskAndAParserWithoutBoundsAreSeen) {
    EXPECT_EQ(broken("backend/core/a.cpp", "::umask(0177);"), 1U);
    EXPECT_EQ(broken("daemon/agent/a.cpp", "Json::parse(text);"), 1U);
    EXPECT_EQ(broken("backend/text/json.cpp", "Json::parse(text);"), 0U);
    EXPECT_EQ(broken("app/cli/a.cpp", "// no umask() here"), 0U);
    EXPECT_EQ(broken("backend/ring/a.cpp", "TinyJson::parse(x, y);"), 0U);
}

TEST(LineLaws, AnOperatorWhoseResultDependsOnAGpusOrderIsSeen) {
    EXPECT_EQ(broken("backend/train/torch/a.cpp", "sums.index_add_(0, rows, values);"), 1U);
    EXPECT_EQ(broken("backend/train/torch/a.cpp", "at::scatter_add(a, 0, b, c);"), 1U);
    EXPECT_EQ(broken("backend/train/torch/a.cpp", "isUsed.index_fill_(0, rows, true);"), 0U);
    EXPECT_EQ(broken("backend/train/torch/ordered_sums.cpp", "a.index_copy_(0, b, c);"), 0U);
}

TEST(LineLaws, AnotherUnitOfBytesIsSeen) {
    EXPECT_EQ(broken("app/cli/a.cpp", "say(\"more than 64 KiB\");"), 1U);
    EXPECT_EQ(broken("daemon/agent/a.cpp", "text(n >> 20, \" MiB\");"), 1U);
    EXPECT_EQ(broken("app/cli/a.cpp", "    // at most 64 KiB, \"MiB\" is another"), 0U);
    EXPECT_EQ(broken("app/cli/b.cpp", "say(formatBytes(1 << 20));"), 0U);
}

TEST(LineLaws, AUnitTestThatSleepsUntilIsSeen) {
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "std::this_thread::sleep_until(end);"), 1U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "std::this_thread::sleep_for(1s);"), 1U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "usleep(3);"), 1U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "eventually([&] { return isDone; });"), 0U);
}

TEST(LineLaws, ASleepOutsideOfTheUnitTestsIsSeen) {
    EXPECT_EQ(broken("tests/integration/a_test.cpp", "std::this_thread::sleep_for(1s);"), 1U);
    EXPECT_EQ(broken("tests/gui/a_test.cpp", "QTest::qWait(200);"), 1U);
    EXPECT_EQ(broken("tests/gui/a_test.cpp", "QTest::qWaitFor(isDone);"), 0U);
    EXPECT_EQ(broken("tests/integration/a.py", "    time.sleep(0.5)"), 1U);
    EXPECT_EQ(broken("tests/integration/a.py", "    # no time.sleep(0.5) here"), 0U);
    EXPECT_EQ(broken("tests/support/poll.py", "    time.sleep(0.5)"), 0U);
    EXPECT_EQ(broken("tests/bench/slow", "#!/usr/bin/env python3\ntime.sleep(5)"), 1U);
    EXPECT_EQ(broken("tests/bench/slow", "#!/usr/bin/env bash\nmake; sleep 5"), 1U);
    EXPECT_EQ(broken("tests/run_slowly.sh", "make; sleep 5"), 1U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "options.argv = {\"sleep\", \"60\"};"), 0U);
}

TEST(LineLaws, AFixedPortIsSeen) {
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "connect(\"127.0.0.1:7070\");"), 1U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "address.sin_port = htons(7070);"), 1U);
    EXPECT_EQ(broken("tests/integration/a.py", "server.bind((\"127.0.0.1\", 8080))"), 1U);
    EXPECT_EQ(broken("tests/integration/a.py", "run(server, port=8080)"), 1U);
    EXPECT_EQ(broken("tests/integration/a.py", "server.bind((\"127.0.0.1\", 0))"), 0U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "parse(\"a-node:7070\");"), 0U);
}

TEST(LineLaws, APathOfOneMachineIsSeen) {
    for (const char* folder : {"home", "Users", "root", "mnt"}) {
        const std::string path = std::string("\"/") + folder + "/me/data\"";
        EXPECT_EQ(broken("tests/integration/a.py", "DATA = " + path), 1U) << path;
        EXPECT_EQ(broken("backend/core/a.cpp", "open(" + path + ");"), 1U) << path;
        EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "open(" + path + ");"), 1U) << path;
    }
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "open(\"/tmp/data\");"), 1U);
    EXPECT_EQ(broken("backend/core/a.cpp", "open(\"/srv/data\");"), 0U);
    EXPECT_EQ(broken("tests/unit/core/a_test.cpp", "char name[] = \"/tmp/millrace-XXXXXX\";"), 0U);
}

TEST(LineLaws, AResultThatIsTakenUnseenIsSeen) {
    const auto planted = [](const std::string& line) {
        return checkResults({{"backend/runs/a.h",
                              "Result<std::string> findId(std::string_view text) const;\n"
                              "Result<std::map<std::string, int>>\n    readAll(int x);\n"
                              "int plain(int x);\n"},
                             {"daemon/rpc/a.cpp", "void f() {\n    " + line + "\n}\n"}})
            .size();
    };
    EXPECT_EQ(planted("const std::string id = *runs_.findId(request->run());"), 1U);
    EXPECT_EQ(planted("use(*store->findId(\"a\"));"), 1U);
    EXPECT_EQ(planted("return findId(g(x))->size();"), 1U);
    EXPECT_EQ(planted("for (auto& a : *agent::readAll(3)) {"), 1U);
    EXPECT_EQ(planted("const int product = a * plain(3);"), 0U);
    EXPECT_EQ(planted("const auto id = runs_.findId(x);"), 0U);
    EXPECT_EQ(planted("const int y = *plain(3);"), 0U);
}

}  // namespace
}  // namespace millrace::laws
