#pragma once
// The command line with a daemon that has a base and a variation, and a spec with a mistake.
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"
#include "tests/unit/cli/cli_fixture.h"

namespace millrace::cli {

class CommandsTest : public CliTest {
 protected:
    CommandsTest() {
        std::ofstream(spec()) << "name: a\ntrain:\n  learnig_rate: 0.1\n";
        fake.runs = {client::aDetail(client::aRun("r-abc23")),
                     client::aDetail(client::aRun("r-def45", "keep-30"))};
        fake.runs[1].summary.variationOf = "r-abc23";
        fake.runs[1].params["recipe.negatives.keep"] = "0.3";
        fake.runs[0].params["recipe.negatives.keep"] = "1.0";
    }
    void haveOneStream() {
        for (values::RunDetail& run : fake.runs) {
            run.summary.streamHash = "5b1c";
        }
    }
    static values::MetricPoint pointAt(std::int64_t step, double value) {
        values::MetricPoint point;
        point.step = step;
        point.value = value;
        return point;
    }
    std::string spec() const { return directory_ / "a.yaml"; }
    tests::TempDir directory_;
};

}  // namespace millrace::cli
