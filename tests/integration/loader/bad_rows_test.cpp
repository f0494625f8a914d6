// CSV files with a few bad rows: the loader names them, or leaves them out and gives the same
// sequence as for clean files.
#include <gmock/gmock.h>

#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BadRows : public LoaderProgram {
 protected:
    const std::vector<std::string> drop_ = {"--set", "dataset.csv.on_bad_row=drop"};

    /// Writes a file of 2,000 rows; with `spoils`, it also has three bad rows.
    void writePart(const std::string& name, bool spoils) {
        std::string text = "user,value,label,tags\n";
        for (int r = 0; r < 2000; ++r) {
            if (spoils && r == 520) {
                text += "12,oops,1,a\n";
            }
            if (spoils && (r == 256 || r == 1999)) {
                text += "12,13\n";
            }
            strAppend(&text, r % 37, ",", 3 * r + 1, ",", r % 2, ",a|b", r % 5, "\n");
        }
        write(name, text);
    }
    std::vector<std::string> dropping(std::vector<std::string> more) const {
        more.insert(more.end(), drop_.begin(), drop_.end());
        return more;
    }
};

TEST_F(BadRows, AStrayTextIsNamedWithFileLineColumnAndValue) {
    std::string text = "user,value,label,tags\n";
    for (int r = 0; r < 2000; ++r) {
        strAppend(&text, r % 37, ",", r == 520 ? "oops" : strCat(r), ",", r % 2, ",a\n");
    }
    write("part-1.csv", text);
    const SubprocessOutput output = run({"stream", "spec.yaml"});
    EXPECT_EQ(output.exitCode, 4);
    EXPECT_THAT(output.err,
                HasSubstr("part-1.csv:522: column 'value': 'oops' is not of type int64"));
    EXPECT_THAT(output.err, HasSubstr("on_bad_row: drop"));
    Json request = resolveRequest(spec());
    request["op"] = "check";
    EXPECT_THAT(dumpJson(inspect(request)["errors"]), HasSubstr("part-1.csv:522: column 'value'"));
}

TEST_F(BadRows, LeftOutTheyLeaveTheSequenceOfTheOthers) {
    writePart("part-1.csv", false);
    const Json clean = report();
    EXPECT_EQ(clean["bad_rows"], 0);
    writePart("part-1.csv", true);
    const Json one = report(dropping({"--threads", "1"}));
    EXPECT_EQ(one["bad_rows"], 3);
    EXPECT_EQ(one["rows_scanned"], clean["rows_scanned"]);
    EXPECT_EQ(one["checksum"], clean["checksum"]);
    EXPECT_NE(one["plan_hash"], clean["plan_hash"]);
    EXPECT_NE(one["stream_hash"], clean["stream_hash"]);
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--threads", "4"}, {"--through-ring"}}) {
        const Json other = report(dropping(more));
        EXPECT_EQ(other["order_hash"], one["order_hash"]) << more.front();
        EXPECT_EQ(other["checksum"], one["checksum"]) << more.front();
    }
    const Json first = report(dropping({"--micro-batches", "100"}));
    const Json rest = report(dropping({"--from", dumpJson(first["cursor"])}));
    EXPECT_EQ(first["rows_delivered"].get<int>() + rest["rows_delivered"].get<int>(),
              one["rows_delivered"].get<int>());
    EXPECT_EQ(rest["cursor"]["epoch"], one["cursor"]["epoch"]);
}

TEST_F(BadRows, CheckAndTheSummarySayHowMany) {
    writePart("part-1.csv", true);
    Json request = resolveRequest(spec());
    request["op"] = "check";
    request["sets"] = {"dataset.csv.on_bad_row=drop"};
    const Json answer = inspect(request);
    ASSERT_EQ(answer["ok"], true) << dumpJson(answer["errors"]);
    EXPECT_THAT(dumpJson(answer["warnings"]),
                AllOf(HasSubstr("part-1.csv:258: 2 fields, but the header has 4 (2 rows); "),
                      HasSubstr("column 'value': 'oops' is not of type int64 (1 row); "
                                "dataset.csv.on_bad_row: drop leaves 3 rows out")));
    const SubprocessOutput output =
        run({"stream", "spec.yaml", "--set", "dataset.csv.on_bad_row=drop"});
    EXPECT_EQ(output.exitCode, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("3 left out of the files"));
}

TEST_F(BadRows, AVariationMayGiveOtherTypes) {
    const std::string text =
        strCat(spec(), "  - {name: typed, set: {dataset.csv.types: {value: double}}}\n");
    Json request = resolveRequest(text);
    request["op"] = "check";
    request["variations"] = {"", "typed"};
    const Json answer = inspect(request);
    ASSERT_EQ(answer["ok"], true) << dumpJson(answer["errors"]);
    EXPECT_THAT(answer["runs"][0]["resolved_spec"].get<std::string>(),
                HasSubstr("\"value\":\"int64\""));
    EXPECT_THAT(answer["runs"][1]["resolved_spec"].get<std::string>(),
                HasSubstr("\"value\":\"double\""));
}

TEST_F(BadRows, AWarningNamesTheRunsThatHaveItWhereNotAllDo) {
    writePart("part-1.csv", true);
    const std::string text = strCat(spec(), "  - {name: heavy, set: {train.momentum: 0.9}}\n");
    Json request = resolveRequest(text);
    request["op"] = "check";
    request["sets"] = {"dataset.csv.on_bad_row=drop"};
    request["variations"] = {"", "heavy"};
    const Json answer = inspect(request);
    ASSERT_EQ(answer["ok"], true) << dumpJson(answer["errors"]);
    std::vector<std::string> warnings;
    for (const Json& warning : answer["warnings"]) {
        warnings.push_back(warning["message"].get<std::string>());
    }
    EXPECT_THAT(warnings, ::testing::Contains(
                              ::testing::StartsWith("variation 'heavy': train.momentum is for")));
    EXPECT_THAT(warnings,
                ::testing::Contains(::testing::StartsWith(directory_.path() + "/part-1.csv")))
        << "all have it";
}

TEST_F(BadRows, AColumnWithACommaInItsNameIsNamedInQuotes) {
    write("n.csv", "\"a,b\",\"c \"\"d\"\"\",k\n1,2,0\n3,4,1\n");
    write("spec.yaml",
          "dataset: {path: n.csv}\nlabel: k = 1\nfeatures: {dense: [k]}\nmodel: {type: mlp}\n"
          "batch: {rows: 8, micro_rows: 4}\n");
    const auto columnsOf = [this](const std::string& names) {
        const SubprocessOutput output =
            run({"stream", "spec.yaml", "--rows", "--sink", "csv", "--output", directory_ / "out",
                 "--force", "--columns", names});
        EXPECT_EQ(output.exitCode, names.find("open") == std::string::npos ? 0 : 2) << output.err;
        std::ifstream in(directory_ / "out/part-00000.csv");
        std::string header;
        std::getline(in, header);
        return header;
    };
    EXPECT_EQ(columnsOf("\"a,b\", k"), "\"a,b\",\"k\"");
    EXPECT_EQ(columnsOf("\"c \"\"d\"\"\""), "\"c \"\"d\"\"\"");
    columnsOf("\"open");
}

}  // namespace
}  // namespace millrace
