// The tree keeps the laws on includes, and the laws find each planted offence.
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

TEST(SourceLaws, EveryPermissionIsUsed) {
    const auto offences = checkPermissions(readTree(MILLRACE_SOURCE_DIR), theRooms());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, EveryPermissionOfALibraryIsUsed) {
    const auto offences = checkLibraryPermissions(readTree(MILLRACE_SOURCE_DIR), libraryLaws());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(SourceLaws, ARelativeIncludeIsSeen) {
    EXPECT_EQ(planted("app/cli/a.cpp", "\"../../backend/runs/run_store.h\"").size(), 1U);
    EXPECT_EQ(planted("backend/core/a.cpp", "\"./b.h\"").size(), 1U);
    EXPECT_EQ(planted("tests/unit/core/a.cpp", "\"../b.h\"").size(), 1U);
}

TEST(SourceLaws, ANewRoomUnderAnyTopFolderIsSeen) {
    for (const char* room : {"backend/mlflow", "daemon/http", "daemon/worker/other", "proto/other",
                             "app/http", "app/gui/sounds", "tests/other"}) {
        const std::string path = std::string(room) + "/a.cpp";
        EXPECT_EQ(checkIncludes({{path, "int x;\n"}}).size(), 1U) << room;
    }
    EXPECT_TRUE(checkIncludes({{"app/gui/pages/other/a.cpp", "int x;\n"}}).empty());
    EXPECT_TRUE(checkIncludes({{"app/gui/a.cpp", "int x;\n"}}).empty());
}

TEST(SourceLaws, APermissionThatNobodyUsesIsSeen) {
    const std::vector<RoomLaw> rooms = {{"a/", {"b/", "c/one.h"}}, {"b/", {}}};
    const SourceFile room = {"b/b.h", ""};
    EXPECT_TRUE(
        checkPermissions({room, {"a/a.h", "#include \"b/b.h\"\n#include \"c/one.h\"\n"}}, rooms)
            .empty());
    EXPECT_EQ(describe(checkPermissions({room, {"a/a.h", "#include \"b/b.h\"\n"}}, rooms)),
              "a/:0: nobody there uses \"c/one.h\": put into roomLaws() {\"a/\", {\"b/\"}},\n");
    EXPECT_EQ(
        checkPermissions({{"a/a.h", "#include \"b/b.h\"\n#include \"c/one.h\"\n"}}, rooms).size(),
        1U);
}

TEST(SourceLaws, APermissionOfALibraryThatNobodyUsesIsSeen) {
    const std::vector<LibraryLaw> laws = {{"Qt", std::regex("^Q"), {"app/gui/", "tests/"}}};
    EXPECT_EQ(checkLibraryPermissions({{"app/gui/a.h", "#include <QString>\n"}}, laws).size(), 1U);
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
    EXPECT_TRUE(planted("app/cli/a.h", "\"backend/core/status.h\"").empty());
}

TEST(SourceLaws, TheTerminalProgramThatIncludesQtIsSeen) {
    EXPECT_FALSE(planted("app/cli/a.h", "<QApplication>").empty());
}

TEST(SourceLaws, LinuxOnlyHeadersInTheAppAreSeen) {
    EXPECT_EQ(planted("app/cli/a.cpp", "<sys/epoll.h>").size(), 1U);
    EXPECT_EQ(planted("app/gui/a.cpp", "<sys/signalfd.h>").size(), 1U);
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

}  // namespace
}  // namespace millrace::laws
