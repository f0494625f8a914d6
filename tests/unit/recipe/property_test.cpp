// Random rows through random recipes: compares the compiled recipe with the slow oracle. A failure
// prints the seed, the recipe and the row; MILLRACE_PROPERTY_SEED=N runs only seed N.
#include <cstdlib>

#include "tests/unit/recipe/property_features.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using namespace test;

constexpr std::int64_t kRows = 60;

/// The same of the batch.
std::string found(const FeatureBatch& batch, std::size_t r) {
    std::string out =
        strCat("row ", batch.rowNumbers[r], " weight ", shown(batch.heads[0].weight[r]));
    for (const DenseColumn& dense : batch.dense) {
        strAppend(&out, " ", dense.name, "=", shown(dense.values[r]));
    }
    for (const IdColumn& id : batch.ids) {
        strAppend(&out, " ", id.name, "#", id.values[r]);
    }
    for (const ListColumn& list : batch.lists) {
        strAppend(&out, " ", list.name, "[");
        for (std::int32_t k = list.offsets[r]; k < list.offsets[r + 1]; ++k) {
            strAppend(&out, list.values[k], ",");
        }
        strAppend(&out, "]");
    }
    const auto& s = batch.sequences;
    strAppend(&out, " past(");
    for (std::int32_t k = s[0].offsets[r]; k < s[0].offsets[r + 1]; ++k) {
        strAppend(&out, static_cast<const std::int64_t*>(s[0].values)[k], "/",
                  shown(static_cast<const float*>(s[1].values)[k]), "/",
                  static_cast<const std::int64_t*>(s[2].values)[k], ",");
    }
    return out + ")";
}

std::vector<std::string> runOracle(const spec::RunSpec& spec, const std::vector<OracleStep>& steps,
                                   const std::vector<TestRow>& rows, std::uint64_t firstRow,
                                   std::uint32_t epoch) {
    std::vector<std::string> lines;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        OracleRow row{rows[r], firstRow + r, 1};
        bool isKept = true;
        for (const OracleStep& step : steps) {
            isKept = isKept && passes(step, row, spec.batch.seed, epoch, "f.csv");
        }
        if (isKept) {
            lines.push_back(expected(spec, row));
        }
    }
    return lines;
}

void checkRun(Bench& bench, MemoryColumns& data, const std::vector<std::string>& want) {
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    std::vector<std::string> got;
    for (std::size_t r = 0; r < batch->rowNumbers.size(); ++r) {
        got.push_back(found(*batch, r));
    }
    ASSERT_EQ(got, want);
    std::int64_t rows = kRows;
    for (const StepCount& count : batch->steps) {
        ASSERT_EQ(count.rowsIn, rows);
        rows = count.rowsOut;
    }
    ASSERT_EQ(rows, static_cast<std::int64_t>(want.size()));
}

void checkSeed(std::uint64_t seed) {
    Generator draw(seed);
    Bench bench;
    bench.firstRow = 1000;
    bench.epoch = static_cast<std::uint32_t>(draw.upTo(3));
    for (std::size_t t = 0; t < 2; ++t) {
        bench.dir.parquet(strCat("t", t, ".parquet"),
                          columnsOf(draw.table(t).rows, {"ik", "sk", "it", "yv", "iv"}));
    }
    const std::vector<OracleStep> steps = draw.recipe();
    std::string described = strCat("seed ", seed);
    for (const OracleStep& step : steps) {
        bench.spec.recipe.push_back(step.step);
        strAppend(&described, "\n  - ", step.step.line());
    }
    SCOPED_TRACE(described);
    addFeatures(bench.spec, draw.columns(), draw);
    bench.spec.labels["l"].expr = "coalesce(ia, 0) > 0";
    const auto want = runOracle(bench.spec, steps, draw.rows(), bench.firstRow, bench.epoch);
    MemoryColumns data(columnsOf(draw.rows(), draw.fileColumns()));
    for (const int coded : {0, 1, 2}) {
        SCOPED_TRACE(strCat(coded, " of texts and numbers as dictionaries"));
        data.codesTexts = coded > 0;
        data.codesNumbers = coded > 1;
        checkRun(bench, data, want);
    }
}
TEST(RecipeProperty, IsTheOraclesForAnyDataAndSteps) {
    if (const char* one = std::getenv("MILLRACE_PROPERTY_SEED"); one != nullptr) {
        return checkSeed(std::strtoull(one, nullptr, 10));
    }
    for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFatalFailure(); ++seed) {
        checkSeed(seed);
    }
}

/// The rows of keep 0.1 are among those of keep 0.2, with or without other steps that do not draw.
TEST(RecipeProperty, SamplesAreMonotoneAndPaired) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Generator draw(seed);
        std::vector<OracleStep> around = draw.recipe();
        std::erase_if(around, [](const OracleStep& s) { return s.step.dropsOrWeighs(); });
        MemoryColumns data(columnsOf(draw.rows(), draw.fileColumns()));
        const auto keptBy = [&](double keep, bool hasOthers) {
            Bench bench;
            for (std::size_t t = 0; t < 2; ++t) {
                bench.dir.parquet(strCat("t", t, ".parquet"),
                                  columnsOf(draw.table(t).rows, {"ik", "sk", "it", "yv", "iv"}));
            }
            for (const OracleStep& s : around) {
                spec::Step step = s.step;
                std::visit([](auto& kind) { kind.keepAllRows(); }, step.body);
                if (hasOthers) {
                    bench.spec.recipe.push_back(step);
                }
            }
            auto& sample = bench.add<spec::SampleStep>("negatives");
            sample.keep = keep;
            sample.by =
                seed % 2 == 0 ? std::vector<std::string>{"ia", "sa"} : std::vector<std::string>{};
            const auto batch = bench.run(data);
            EXPECT_TRUE(batch.ok()) << batch.status();
            return batch.ok() ? batch->rowNumbers : std::vector<std::uint64_t>();
        };
        const auto few = keptBy(0.1, false), more = keptBy(0.2, false);
        EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end())) << seed;
        EXPECT_EQ(keptBy(0.1, true), few) << seed;
        EXPECT_EQ(keptBy(0.2, true), more) << seed;
    }
}

}  // namespace
}  // namespace millrace::recipe
