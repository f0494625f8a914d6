#include "tests/laws/source_laws.h"

#include <gtest/gtest.h>

namespace millrace::laws {
namespace {

std::vector<Offence> planted(const std::string& path, const std::string& include) {
    return checkIncludes({{path, "#pragma once\n#include " + include + "\n"}});
}

TEST(SourceLaws, TheTreeHasFiles) {
    EXPECT_GT(readTree(MILLRACE_SOURCE_DIR).size(), 40U);
}

TEST(SourceLaws, TheTreeKeepsItsLayers) {
    const auto offences = checkIncludes(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, FilesStayWithinTheirSize) {
    const auto offences = checkSizes(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, TheConsoleHasThreadsAndCallsInItsBridgeOnly) {
    const auto offences = checkGui(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, ProductsLeaveTheUmaskAloneAndParseWithinBounds) {
    const auto offences = checkProcessWide(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, BytesAreToldInPowersOfTen) {
    const auto offences = checkUnits(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, UnitTestsDoNotSleep) {
    const auto offences = checkTests(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, NoResultIsTakenUnseen) {
    const auto offences = checkResults(readTree(MILLRACE_SOURCE_DIR));
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, AResultThatIsTakenUnseenIsSeen) {
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

TEST(SourceLaws, BackendThatIncludesQtIsSeen) {
    EXPECT_EQ(planted("backend/spec/a.h", "<QString>").size(), 1U);
    EXPECT_EQ(planted("backend/core/a.h", "<QtCore/QObject>").size(), 1U);
}

TEST(SourceLaws, BackendThatIncludesGrpcOrProtoIsSeen) {
    EXPECT_EQ(planted("backend/runs/a.h", "<grpcpp/grpcpp.h>").size(), 1U);
    EXPECT_EQ(planted("backend/runs/a.h", "\"millrace/v1/runs.pb.h\"").size(), 1U);
}

TEST(SourceLaws, TorchOutsideItsRoomIsSeen) {
    EXPECT_EQ(planted("backend/train/trainer.h", "<torch/torch.h>").size(), 1U);
    EXPECT_TRUE(planted("backend/train/torch/model.h", "<torch/torch.h>").empty());
}

TEST(SourceLaws, ArrowInTheDaemonIsSeen) {
    EXPECT_EQ(planted("daemon/agent/a.h", "<arrow/api.h>").size(), 1U);
    EXPECT_TRUE(planted("backend/dataset/a.h", "<arrow/api.h>").empty());
}

TEST(SourceLaws, ProtoTypesInTheAgentAreSeen) {
    EXPECT_EQ(planted("daemon/agent/a.h", "\"millrace/v1/runs.pb.h\"").size(), 1U);
    EXPECT_TRUE(planted("daemon/rpc/a.h", "\"millrace/v1/runs.pb.h\"").empty());
}

TEST(SourceLaws, DaemonAndAppThatIncludeEachOtherAreSeen) {
    EXPECT_EQ(planted("daemon/agent/a.h", "\"app/client/daemon_client.h\"").size(), 1U);
    EXPECT_EQ(planted("app/session/a.h", "\"daemon/agent/run_service.h\"").size(), 1U);
}

TEST(SourceLaws, AppThatReachesIntoTheEngineIsSeen) {
    EXPECT_EQ(planted("app/cli/a.h", "\"backend/runs/run_store.h\"").size(), 1U);
    EXPECT_TRUE(planted("app/cli/a.h", "\"backend/runs/run_record.h\"").empty());
}

TEST(SourceLaws, TheTerminalProgramThatIncludesQtIsSeen) {
    EXPECT_FALSE(planted("app/cli/a.h", "<QApplication>").empty());
}

TEST(SourceLaws, LinuxOnlyHeadersInTheAppAreSeen) {
    EXPECT_EQ(planted("app/cli/a.cpp", "<sys/epoll.h>").size(), 1U);
    EXPECT_TRUE(planted("daemon/agent/a.cpp", "<sys/inotify.h>").empty());
}

TEST(SourceLaws, ProductionThatIncludesTestsIsSeen) {
    EXPECT_EQ(planted("backend/core/a.h", "\"tests/support/x.h\"").size(), 1U);
}

TEST(SourceLaws, AnUpwardArrowIsSeen) {
    EXPECT_EQ(planted("backend/core/a.h", "\"backend/spec/run_spec.h\"").size(), 1U);
    EXPECT_EQ(planted("backend/frame/a.h", "\"backend/ring/ring.h\"").size(), 1U);
    EXPECT_EQ(planted("backend/stream/a.h", "\"backend/dataset/dataset.h\"").size(), 1U);
}

TEST(SourceLaws, SpdlogInTheTrainersRoomsIsSeen) {
    EXPECT_EQ(planted("backend/rank/a.cpp", "<spdlog/spdlog.h>").size(), 1U);
}

TEST(SourceLaws, AModelThatIncludesAWidgetIsSeen) {
    EXPECT_EQ(planted("app/gui/models/a.h", "<QWidget>").size(), 1U);
    EXPECT_EQ(planted("app/gui/models/a.h", "\"app/gui/widgets/theme.h\"").size(), 1U);
    EXPECT_TRUE(planted("app/gui/widgets/a.h", "<QWidget>").empty());
}

TEST(SourceLaws, QtChartsOutsideItsRoomIsSeen) {
    EXPECT_EQ(planted("app/gui/pages/runs/a.h", "<QChartView>").size(), 1U);
    EXPECT_EQ(planted("app/gui/pages/runs/a.h", "<QtCharts/QLineSeries>").size(), 1U);
    EXPECT_TRUE(planted("app/gui/charts/a.h", "<QChartView>").empty());
}

TEST(SourceLaws, AThreadOrACallOfTheDaemonInAPageIsSeen) {
    EXPECT_EQ(checkGui({{"app/gui/pages/a.cpp", "std::jthread worker;\n"}}).size(), 1U);
    EXPECT_EQ(checkGui({{"app/gui/models/a.h", "client::DaemonClient& client_;\n"}}).size(), 1U);
    EXPECT_TRUE(checkGui({{"app/gui/bridge/a.cpp", "std::jthread worker;\n"}}).empty());
}

TEST(SourceLaws, ABoxThatBlocksTheWindowIsSeen) {
    EXPECT_EQ(checkGui({{"app/gui/pages/a.cpp", "dialog.exec(); box->exec();\n"}}).size(), 1U);
    EXPECT_EQ(checkGui({{"app/gui/pages/a.cpp", "QMessageBox::question(this);\n"}}).size(), 1U);
    EXPECT_TRUE(checkGui({{"app/gui/pages/a.cpp", "dialog->open();\n"}}).empty());
}

TEST(SourceLaws, AStyleSheetInTheConsoleIsSeen) {
    EXPECT_EQ(checkGui({{"app/gui/widgets/a.cpp", "view->setStyleSheet(text);\n"}}).size(), 1U);
    EXPECT_TRUE(checkGui({{"app/gui/widgets/a.cpp", "setLook(*view, \"bare\");\n"}}).empty());
    EXPECT_TRUE(checkGui({{"tests/gui/a.cpp", "view->setStyleSheet(text);\n"}}).empty());
}

TEST(SourceLaws, AFileThatGrewTooLongIsSeen) {
    EXPECT_EQ(checkSizes({{"backend/core/a.cpp", std::string(601, '\n')}}).size(), 1U);
    EXPECT_TRUE(checkSizes({{"backend/core/a.cpp", std::string(600, '\n')}}).empty());
    EXPECT_EQ(checkSizes({{"backend/core/a.h", std::string(251, '\n')}}).size(), 1U);
}

TEST(SourceLaws, AUmaskAndAParserWithoutBoundsAreSeen) {
    EXPECT_EQ(checkProcessWide({{"backend/core/a.cpp", "::umask(0177);\n"}}).size(), 1U);
    EXPECT_EQ(checkProcessWide({{"daemon/agent/a.cpp", "Json::parse(text);\n"}}).size(), 1U);
    EXPECT_TRUE(checkProcessWide({{"backend/core/json.cpp", "Json::parse(text);\n"}}).empty());
    EXPECT_TRUE(checkProcessWide({{"app/cli/a.cpp", "// no umask() here\n"}}).empty());
    EXPECT_TRUE(checkProcessWide({{"backend/ring/a.cpp", "TinyJson::parse(x, y);\n"}}).empty());
}

TEST(SourceLaws, AnotherUnitOfBytesIsSeen) {
    EXPECT_EQ(checkUnits({{"app/cli/a.cpp", "say(\"more than 64 KiB\");\n"}}).size(), 1U);
    EXPECT_EQ(checkUnits({{"daemon/agent/a.cpp", "text(n >> 20, \" MiB\");\n"}}).size(), 1U);
    EXPECT_TRUE(checkUnits({{"app/cli/a.cpp", "    // at most 64 KiB, \"MiB\" is another\n"},
                            {"app/cli/b.cpp", "say(formatBytes(1 << 20));\n"}})
                    .empty());
}

TEST(SourceLaws, ASleepingUnitTestIsSeen) {
    const std::string call = std::string("std::this_thread::sleep_") + "for(1s);\n";
    EXPECT_EQ(checkTests({{"tests/unit/core/a_test.cpp", call}}).size(), 1U);
}

}  // namespace
}  // namespace millrace::laws
