// The roles stream and inspect as a user meets them.
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <thread>

#include <signal.h>

#include "backend/filesystem/files.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

TEST_F(LoaderProgram, StreamsTheSameForOneTwoAndFourThreadsAndThroughTheRing) {
    const Json one = report({"--threads", "1"});
    EXPECT_EQ(one["rows_scanned"], 12000);
    EXPECT_EQ(one["rows_kept"], 10800);
    EXPECT_EQ(one["rows_delivered"], 10800);
    EXPECT_EQ(one["complete"], true);
    EXPECT_EQ(one["schema_version"], 1);
    EXPECT_EQ(one["checksum"].get<std::string>().rfind("10800:5200:", 0), 0U) << one["checksum"];
    EXPECT_GT(one["first_batch_seconds"].get<double>(), 0);
    EXPECT_EQ(one["cursor"]["epoch"], 2);
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--threads", "2"}, {"--threads", "4"}, {"--through-ring"}}) {
        const Json other = report(more);
        EXPECT_EQ(other["order_hash"], one["order_hash"]) << more.front();
        EXPECT_EQ(other["checksum"], one["checksum"]) << more.front();
    }
    EXPECT_NE(report({"--set", "batch.seed=8"})["order_hash"], one["order_hash"]);
    EXPECT_EQ(one["order_hash_version"], 3);
}

TEST_F(LoaderProgram, RowsThatTheDirectoryNamesRuleOutAreCountedApart) {
    for (int day = 0; day < 4; ++day) {
        const std::string part = strCat(directory_.path(), "/day=", day);
        std::filesystem::create_directory(part);
        std::filesystem::copy_file(directory_ / "part-0.csv", part + "/part.csv");
    }
    write("spec.yaml", std::regex_replace(spec("day = 2"), std::regex("part-\\*"), "day=*/part"));
    const Json one = report({"--set", "eval.dataset.where=day = 3"});
    EXPECT_EQ(one["rows_scanned"], 2 * 8000);
    EXPECT_EQ(one["rows_pruned"], 2 * 6000);
    EXPECT_EQ(one["rows_read"], 2 * 2000);
    EXPECT_DOUBLE_EQ(one["rows_per_second"].get<double>(),
                     4000 / one["stream_seconds"].get<double>());
    const SubprocessOutput text =
        run({"stream", "spec.yaml", "--set", "eval.dataset.where=day = 3"});
    EXPECT_NE(text.out.find("4,000 read, 12,000 pruned, 4,000 kept"), std::string::npos)
        << text.out << text.err;
}

// Steps of 4 micro-batches: the 5,400 rows of an epoch are 338 micro-batches, and the last step has
// 2.
TEST_F(LoaderProgram, RanksShareTheStreamAndKnowTheSameAtEachStep) {
    const Json one = report();
    for (const std::string ranks : {"1", "2", "4"}) {
        const Json many = report({"--through-ring", "--ranks", ranks});
        EXPECT_EQ(many["order_hash"], one["order_hash"]) << ranks;
        EXPECT_EQ(many["checksum"], one["checksum"]) << ranks;
        EXPECT_EQ(many["step_marks"], 2 * 85) << ranks;
        EXPECT_EQ(many["ranks"], std::stoi(ranks));
    }
    const SubprocessOutput refused = run({"stream", "spec.yaml", "--through-ring", "--ranks", "3"});
    EXPECT_EQ(refused.exitCode, 4);
    EXPECT_NE(refused.err.find("admissible: 1, 2, 4"), std::string::npos) << refused.err;
    EXPECT_EQ(run({"stream", "spec.yaml", "--ranks", "2"}).exitCode, 2) << "without rings";
}

// An epoch has 84 whole steps of 4 micro-batches, and a last step of 16 and 8 rows.
TEST_F(LoaderProgram, LastStepsThatAreNotWholeAreLeftOut) {
    const Json all = report();
    EXPECT_EQ(all["rows_left_out"], 0);
    const Json whole = report({"--epochs", "1", "--micro-batches", "336"});
    for (const std::string threads : {"1", "4"}) {
        const Json one = report({"--epochs", "1", "--last", "drop", "--threads", threads});
        EXPECT_EQ(one["order_hash"], whole["order_hash"]);
        EXPECT_EQ(one["checksum"], whole["checksum"]);
        EXPECT_EQ(one["rows_delivered"], 84 * 64);
        EXPECT_EQ(one["micro_batches"], 336);
        EXPECT_EQ(one["rows_left_out"], 24);
        EXPECT_EQ(one["rows_kept"], 5400);
    }
    const Json two = report({"--last", "drop", "--sink", "null"});
    EXPECT_EQ(two["rows_delivered"], 2 * 84 * 64);
    EXPECT_EQ(two["rows_left_out"], 48);
    EXPECT_NE(two["order_hash"], all["order_hash"]);
    EXPECT_NE(run({"stream", "spec.yaml", "--last", "drop"}).out.find("10,752 delivered, 48 left"),
              std::string::npos);
    const std::vector<std::string> even = {"--set", "batch.micro_rows=8", "--set", "batch.rows=8"};
    std::vector<std::string> dropped = even;
    dropped.insert(dropped.end(), {"--last", "drop"});
    EXPECT_EQ(report(dropped)["order_hash"], report(even)["order_hash"]) << "all are whole";
    EXPECT_EQ(report(dropped)["rows_left_out"], 0);
}

// A stream that is cut inside an epoch leaves nothing out, nor does one that resumes inside a step.
TEST_F(LoaderProgram, OnlyAnEpochsEndLeavesRowsOut) {
    const Json cut = report({"--micro-batches", "337", "--last", "drop"});
    EXPECT_EQ(cut["rows_left_out"], 0);
    EXPECT_EQ(cut["order_hash"], report({"--micro-batches", "337"})["order_hash"]);
    EXPECT_EQ(report({"--micro-batches", "338", "--last", "drop"})["rows_left_out"], 24);
    const Json rest = report({"--from", dumpJson(cut["cursor"]), "--last", "drop"});
    EXPECT_EQ(rest["rows_left_out"], 8 + 24);
    EXPECT_EQ(rest["rows_delivered"], 84 * 64);
    const Json within = report({"--micro-batches", "334"});
    EXPECT_EQ(report({"--from", dumpJson(within["cursor"]), "--last", "drop"})["rows_delivered"],
              2 * 16 + 84 * 64)
        << "what came before the start belongs to the step";
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--data", "eval"}, {"--sink", "csv", "--output", "t"}}) {
        std::vector<std::string> arguments = {"stream", "spec.yaml", "--last", "drop"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const SubprocessOutput refused = run(arguments);
        EXPECT_EQ(refused.exitCode, 2);
        EXPECT_NE(refused.err.find("--last drop"), std::string::npos) << refused.err;
    }
}

// The marks report the same rows as left out as the sums without rings.
TEST_F(LoaderProgram, RanksLeaveOutTheSameLastSteps) {
    struct Way {
        std::vector<std::string> arguments;
        std::vector<std::string> ranks;
    };
    const std::string within = dumpJson(report({"--micro-batches", "334"})["cursor"]);
    const std::vector<Way> ways = {
        {{}, {"1", "2", "4"}},
        {{"--from", within}, {"1", "4"}},
        {{"--set", "batch.micro_rows=8", "--set", "batch.rows=32"}, {"2"}},
        {{"--set", "batch.micro_rows=24", "--set", "batch.rows=216"},
         {"3"}}};  // all steps are whole
    for (const auto& [arguments, worlds] : ways) {
        SCOPED_TRACE(arguments.empty() ? "all" : arguments.back());
        std::vector<std::string> dropped = arguments;
        dropped.insert(dropped.end(), {"--last", "drop"});
        const Json one = report(dropped);
        dropped.insert(dropped.end(), {"--through-ring", "--ranks", ""});
        for (const std::string& ranks : worlds) {
            dropped.back() = ranks;
            const Json many = report(dropped);
            for (const char* figure :
                 {"order_hash", "checksum", "rows_delivered", "rows_left_out", "micro_batches"}) {
                EXPECT_EQ(many[figure], one[figure]) << figure << " of " << ranks;
            }
        }
    }
}

TEST_F(LoaderProgram, RanksGoOnFromACursorWithinAStep) {
    const Json cursor = report({"--micro-batches", "101"})["cursor"];
    const Json rest = report({"--from", dumpJson(cursor)});
    const Json ranks = report({"--from", dumpJson(cursor), "--through-ring", "--ranks", "2"});
    EXPECT_EQ(ranks["order_hash"], rest["order_hash"]);
    EXPECT_EQ(ranks["checksum"], rest["checksum"]);
    EXPECT_EQ(ranks["step_marks"], 2 * 85 - 25);
}

TEST_F(LoaderProgram, AVariationWithFewerNegativesKeepsASubset) {
    const Json all = report({"--epochs", "1"});
    const Json half = report({"--epochs", "1", "--variation", "half"});
    EXPECT_LT(half["rows_kept"], all["rows_kept"]);
    EXPECT_GT(half["rows_kept"], 3500);
    EXPECT_EQ(half["steps"].back()["name"], "few");
    EXPECT_EQ(half["steps"].back()["rows_out"], half["rows_kept"]);
}

TEST_F(LoaderProgram, GoesOnFromACursor) {
    Json cursor = report({"--epochs", "1"})["cursor"];
    EXPECT_EQ(cursor["epoch"], 1);
    const Json rest = report({"--from", dumpJson(cursor)});
    EXPECT_EQ(rest["rows_delivered"], 5400);
    write("cursor.json", dumpJson(cursor));
    EXPECT_EQ(report({"--from", "cursor.json"})["order_hash"], rest["order_hash"]);
    cursor["stream_hash"] = std::string(32, '0');
    EXPECT_EQ(run({"stream", "spec.yaml", "--from", dumpJson(cursor)}).exitCode, 4);
}

TEST_F(LoaderProgram, StreamsTheEvaluationSet) {
    const Json eval = report({"--data", "eval"});
    EXPECT_EQ(eval["rows_delivered"], 600);
    EXPECT_EQ(eval["part"], "eval");
}

TEST_F(LoaderProgram, TheNullSinkReadsNoValues) {
    const Json json = report({"--sink", "null"});
    EXPECT_TRUE(json["checksum"].is_null());
    EXPECT_EQ(json["order_hash"], report()["order_hash"]);
}

TEST_F(LoaderProgram, PrintsATableForPeople) {
    const SubprocessOutput output = run({"stream", "spec.yaml", "--epochs", "1"});
    EXPECT_EQ(output.exitCode, 0);
    EXPECT_NE(output.out.find("order hash"), std::string::npos) << output.out;
    EXPECT_NE(output.out.find("5,400 kept"), std::string::npos) << output.out;
    EXPECT_EQ(output.err, "");
}

TEST_F(LoaderProgram, UsageErrorsEndWithTwo) {
    EXPECT_EQ(run({}).exitCode, 2);
    EXPECT_EQ(run({"stream"}).exitCode, 2);
    EXPECT_EQ(run({"stream", "spec.yaml", "--sink", "bucket"}).exitCode, 2);
    EXPECT_EQ(run({"--help"}).exitCode, 0);
    EXPECT_EQ(run({"--version"}).out.rfind("millrace-loader ", 0), 0U);
}

TEST_F(LoaderProgram, ABrokenRowEndsTheStreamWithFileAndLine) {
    std::ofstream(directory_ / "part-1.csv", std::ios::app) << "1,2\n";
    const SubprocessOutput output = run({"stream", "spec.yaml"});
    EXPECT_EQ(output.exitCode, 4);
    EXPECT_NE(output.err.find("part-1.csv"), std::string::npos) << output.err;
    EXPECT_NE(output.err.find("2002"), std::string::npos) << output.err;
}

// Whether the process handles Ctrl-C as an event instead of dying from it: it then blocks SIGINT.
// (Between fork and exec, and while a thread is created, all signals are blocked, SIGWINCH too.)
bool takesInterrupts(pid_t pid) {
    const auto status = readFile(strCat("/proc/", pid, "/status"));
    const auto at = status.ok() ? status->find("SigBlk:") : std::string::npos;
    if (at == std::string::npos) {
        return false;
    }
    const auto blocked = std::strtoull(status->c_str() + at + 7, nullptr, 16);
    const auto has = [blocked](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
    return has(SIGINT) && !has(SIGWINCH);
}

TEST_F(LoaderProgram, CtrlCEndsCleanlyAndSaysWhatWasDone) {
    SubprocessOptions options;
    options.argv = {loaderProgram(), "stream", "spec.yaml", "--json", "--epochs", "100000"};
    options.workingDirectory = directory_.path();
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const UniqueFd ours(fds[0]);
    UniqueFd theirs(fds[1]);
    options.stdoutFd = theirs.get();
    auto child = Subprocess::start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    theirs.reset();
    while (!takesInterrupts(child->pid())) {
        std::this_thread::yield();
    }
    child->signal(SIGINT);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ours.get(), buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    EXPECT_EQ(*child->wait(), 3);
    const auto json = parseJson(text, "report");
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_EQ((*json)["complete"], false);
    const SubprocessOutput rest =
        run({"stream", "spec.yaml", "--epochs", "1", "--from", dumpJson((*json)["cursor"])});
    EXPECT_TRUE(rest.exitCode == 0) << rest.err;
}

TEST_F(LoaderProgram, InspectResolvesTheBaseAndItsVariations) {
    Json request = resolveRequest(spec());
    request["variations"] = "all";
    const Json answer = inspect(request);
    ASSERT_EQ(answer["ok"], true) << dumpJson(answer);
    ASSERT_EQ(answer["runs"].size(), 2U);
    EXPECT_EQ(answer["runs"][0]["variation"], "");
    EXPECT_EQ(answer["runs"][1]["variation"], "half");
    EXPECT_EQ(answer["runs"][0]["plan_hash"], answer["runs"][1]["plan_hash"]);
    EXPECT_NE(answer["runs"][0]["stream_hash"], answer["runs"][1]["stream_hash"]);
    EXPECT_EQ(answer["runs"][0]["stream_hash"], report()["stream_hash"]);
    EXPECT_FALSE(answer["runs"][0]["plan"]["files"].empty());
    EXPECT_EQ(answer["runs"][1]["plan"], 0) << "the same as the first run's";
    // The program assembles the text from parts; it equals the text of the whole document.
    EXPECT_EQ(run({"inspect"}, dumpJson(request)).out, dumpJson(answer) + "\n");
}

TEST_F(LoaderProgram, InspectSaysWhereAnUnknownColumnStands) {
    const Json answer = inspect(resolveRequest(spec("vlue > 3")));
    ASSERT_EQ(answer["ok"], false);
    const Json& error = answer["errors"][0];
    EXPECT_EQ(error["line"], 2);
    EXPECT_NE(error["message"].get<std::string>().find("value"), std::string::npos) << error;
}

TEST_F(LoaderProgram, InspectRefusesALabelOfOneClass) {
    const Json answer = inspect(resolveRequest(spec("label = 1")));
    ASSERT_EQ(answer["ok"], false) << dumpJson(answer);
    EXPECT_NE(answer["errors"][0]["message"].get<std::string>().find("both classes"),
              std::string::npos)
        << dumpJson(answer);
}

TEST_F(LoaderProgram, InspectDescribesADataset) {
    const Json answer =
        inspect({{"op", "dataset"}, {"path", "part-*.csv"}, {"base_dir", directory_.path()}});
    EXPECT_EQ(answer["ok"], true) << dumpJson(answer);
    EXPECT_EQ(answer["rows"], 6000);
    EXPECT_EQ(answer["files_total"], 3) << dumpJson(answer);
    EXPECT_EQ(answer["files"].size(), 3U);
    EXPECT_EQ(answer["columns"].size(), 4U);
}

TEST_F(LoaderProgram, InspectAnswersGarbageWithASentence) {
    for (const char* text : {"", "{", "[]", "{\"op\": \"resolv\"}", "\xff\xfe"}) {
        const SubprocessOutput output = run({"inspect"}, text);
        EXPECT_EQ(output.exitCode, 0);
        EXPECT_NE(output.out.find("\"ok\":false"), std::string::npos) << text << output.out;
    }
}

}  // namespace
}  // namespace millrace
