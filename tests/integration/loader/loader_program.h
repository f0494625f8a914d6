#pragma once
// Runs the built millrace-loader on small data.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "tests/support/temp_dir.h"

namespace millrace {

inline std::string loaderProgram() {
    return std::string(MILLRACE_BIN_DIR) + "/millrace-loader";
}

class LoaderProgram : public ::testing::Test {
 protected:
    void SetUp() override {
        for (int f = 0; f < 3; ++f) {
            std::ofstream out(directory_ / strCat("part-", f, ".csv"));
            out << "user,value,label,tags\n";
            for (int r = 0; r < 2000; ++r) {
                out << r % 37 << ',' << 3 * r + f << ',' << r % 2 << ",a|b" << r % 5 << '\n';
            }
        }
        write("spec.yaml", spec());
    }

    std::string spec(const std::string& where = "value % 10 <> 7") const {
        return strCat(
            "name: small\ndataset: {path: \"part-*.csv\", csv_split_rows: 256, where: \"", where,
            "\"}\nrecipe:\n"
            "  - derive: {half: value / 2.0, list: \"split(tags, '|')\"}\n"
            "  - {name: few, sample: {where: label = 0, keep: 1.0, weight: inverse, by: [value]}}\n"
            "labels: {label: label}\n"
            "features: {dense: [half], ids: [user], lists: [list], carry: [value]}\n"
            "embeddings: {user: {rows: 64}, list: {rows: 64}}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 64, micro_rows: 16, seed: 7, segment_splits: 1, epochs: 2}\n"
            "eval: {dataset: {where: \"value % 10 = 7\"}}\n"
            "variations:\n  - {name: half, set: {recipe.few.keep: 0.5}}\n");
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
    }

    SubprocessOutput run(std::vector<std::string> arguments, const std::string& input = "") const {
        SubprocessOptions options;
        options.argv = {loaderProgram()};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.input = input;
        options.workingDirectory = directory_.path();
        options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache"};
        options.timeout = std::chrono::seconds(100);
        const auto output = Subprocess::run(options);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }
    Json report(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {"stream", "spec.yaml", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const SubprocessOutput output = run(arguments);
        EXPECT_EQ(output.exitCode, 0) << output.err;
        const auto json = parseJson(output.out, "report");
        EXPECT_TRUE(json.ok()) << json.status() << output.out;
        return json.ok() ? *json : Json::object();
    }

    Json inspect(const Json& request) const {
        const SubprocessOutput output = run({"inspect"}, dumpJson(request));
        EXPECT_EQ(output.exitCode, 0) << output.err;
        const auto json = parseJson(output.out, "answer");
        EXPECT_TRUE(json.ok()) << json.status() << output.out;
        return json.ok() ? *json : Json::object();
    }
    Json resolveRequest(const std::string& text) const {
        return {{"op", "resolve"},
                {"text", text},
                {"file_name", "spec.yaml"},
                {"base_dir", directory_.path()},
                {"variations", Json::array()},
                {"sets", Json::array()}};
    }

    tests::TempDir directory_;
};

}  // namespace millrace
