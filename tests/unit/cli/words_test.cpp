#include "app/session/words.h"

#include <gmock/gmock.h>

#include "backend/text/text.h"
#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

namespace word = session::word;
using session::Word;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string firstLine(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// The headings of a table whose columns are two blanks or more apart.
std::vector<std::string> headingsOf(const std::string& line) {
    std::vector<std::string> headings;
    for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
        const std::size_t end = std::min(line.find("  ", at), line.size());
        headings.push_back(line.substr(at, end - at));
        at = end;
    }
    return headings;
}

TEST_F(CommandsTest, LsHasTheHeadingsOfTheWords) {
    const std::vector<std::pair<const char*, const Word*>> columns = {
        {"id", &word::kRun},          {"name", &word::kName},       {"state", &word::kState},
        {"steps", &word::kStep},      {"rate", &word::kRate},       {"rows", &word::kRowsTrained},
        {"owner", &word::kOwner},     {"project", &word::kProject}, {"model", &word::kModel},
        {"dataset", &word::kDataset}, {"host", &word::kNode},       {"uid", &word::kUid},
        {"created", &word::kCreated}, {"reason", &word::kReason}};
    std::string names;
    std::vector<std::string> headings;
    for (const auto& [name, one] : columns) {
        names += (names.empty() ? "" : ",") + std::string(name);
        headings.emplace_back(one->heading);
    }
    values::RunSummary& summary = fake.runs[0].summary;  // a column without a value is left out
    summary.project = "p";
    summary.host = "node-1";
    summary.exitReason = "stopped";
    terminal.width = 400;
    EXPECT_EQ(run({"ls", "--columns", names}), kExitOk) << err.str();
    EXPECT_THAT(headingsOf(firstLine(out.str())), ElementsAreArray(headings));
}

TEST_F(CommandsTest, CompareHasTheHeadingsOfTheWords) {
    for (const char* id : {"r-ghi67", "r-jkm89", "r-nop23"}) {
        fake.runs.push_back(client::aDetail(client::aRun(id, id)));
    }
    EXPECT_EQ(run({"compare", "--filter", "x"}), kExitOk) << err.str();
    const std::vector<std::string> headings = headingsOf(firstLine(out.str()));
    for (const Word* one :
         {&word::kRun, &word::kName, &word::kState, &word::kRowsRead, &word::kRowsKept,
          &word::kRowsTrained, &word::kRate, &word::kDuration}) {
        EXPECT_THAT(headings, ::testing::Contains(one->heading));
    }
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    for (const Word* one : {&word::kVariation, &word::kState, &word::kRowsTrained, &word::kRate}) {
        EXPECT_THAT(out.str(), HasSubstr(std::string("\n") + one->label)) << one->key;
    }
}

TEST_F(CommandsTest, ShowHasTheLabelsOfTheWords) {
    values::RunSummary& summary = fake.runs[0].summary;
    summary.specHash = summary.streamHash = "0ef2f231584b";
    summary.host = "node-1";
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk) << err.str();
    for (const Word* one : {&word::kProgress, &word::kCreated, &word::kStarted, &word::kEnded,
                            &word::kRate, &word::kUid, &word::kModel, &word::kDataset,
                            &word::kSpecHash, &word::kStreamHash, &word::kNode}) {
        EXPECT_THAT(out.str(), HasSubstr(strCat("\n  ", one->label, " "))) << one->key;
    }
}

TEST_F(CommandsTest, NodesHasTheHeadingsOfTheWords) {
    fake.nodeInfos.resize(1);
    fake.nodeInfos.front().state = "attached";
    terminal.width = 400;
    EXPECT_EQ(run({"nodes"}), kExitOk) << err.str();
    const std::vector<std::string> headings = headingsOf(firstLine(out.str()));
    for (const Word* one :
         {&word::kNode, &word::kState, &word::kCores, &word::kCpu, &word::kMemory, &word::kGpu}) {
        EXPECT_THAT(headings, ::testing::Contains(one->heading));
    }
}

TEST_F(CommandsTest, JsonHasTheKeysOfTheWords) {
    EXPECT_EQ(run({"ls", "--json"}), kExitOk) << err.str();
    const std::string runs = out.str();
    for (const Word* one : session::words()) {
        // These are keys of receipts, nodes and filters, not of a list of runs.
        static const std::set<std::string> kElsewhere = {
            "reason",       "duration",      "input_stall_percent",
            "rows_scanned", "rows_pruned",   "weights_hash",
            "cpu_percent",  "memory_bytes",  "gpus",
            "cores",        "plan_hash",     "value",
            "time",         "bytes",         "path",
            "columns",      "type",          "nulls",
            "disk_bytes",   "decoded_bytes", "min",
            "max",          "encoding",      "codec"};
        if (!kElsewhere.contains(one->key)) {
            EXPECT_THAT(runs, HasSubstr(strCat("\"", one->key, "\""))) << one->key;
        }
    }
}

}  // namespace
}  // namespace millrace::cli
