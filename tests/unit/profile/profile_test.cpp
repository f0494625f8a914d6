// Sketches compared with exact answers; profiles, requests, advice and first specs of small
// datasets.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include <arrow/api.h>
#include <gmock/gmock.h>

#include "backend/profile/first_spec.h"
#include "backend/profile/page_probe.h"
#include "backend/profile/profiler.h"
#include "backend/profile/sketches.h"
#include "backend/profile/spec_split.h"
#include "backend/table/table_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/profile/columns.h"

namespace millrace::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DistinctSketchTest, StaysWithinItsError) {
    for (const std::int64_t count : {0, 1, 10, 1000, 20'000, 1'000'000}) {
        DistinctSketch sketch;
        for (std::int64_t i = 0; i < count; ++i) {
            sketch.add(hashOf(static_cast<std::uint64_t>(i)));
            sketch.add(hashOf(static_cast<std::uint64_t>(i)));
        }
        // Four standard errors; below a few thousand values linear counting is better.
        EXPECT_NEAR(sketch.estimate(), static_cast<double>(count),
                    4 * DistinctSketch::kStandardError * static_cast<double>(count) + 0.5);
    }
}

TEST(DistinctSketchTest, FewValuesAreCountedOneByOne) {
    for (std::size_t count = 0; count <= DistinctSketch::kExactMax; count += count < 10 ? 1 : 173) {
        for (std::uint64_t from = 0; from < 100; from += 7) {
            DistinctSketch sketch;
            for (std::size_t i = 0; i < 2 * count; ++i) {
                sketch.add(hashOf(from * 1'000'003 + i % count));
            }
            ASSERT_EQ(sketch.estimate(), static_cast<double>(count)) << from;
            ASSERT_EQ(sketch.standardError(), 0);
        }
    }
    DistinctSketch many;
    for (std::uint64_t i = 0; i <= DistinctSketch::kExactMax; ++i) {
        many.add(hashOf(i));
    }
    EXPECT_EQ(many.standardError(), DistinctSketch::kStandardError);
}

TEST(DistinctSketchTest, CountsTexts) {
    DistinctSketch sketch;
    for (int i = 0; i < 5000; ++i) {
        sketch.add(hashOf(std::string_view(strCat("user-", i % 700))));
    }
    EXPECT_NEAR(sketch.estimate(), 700, 40);
}

TEST(QuantileSketchTest, ComesNearTheQuantilesOfAllValues) {
    QuantileSketch sketch;
    for (int i = 0; i < 500'000; ++i) {
        sketch.add(static_cast<double>(i % 1000));
    }
    EXPECT_EQ(sketch.count(), 500'000U);
    for (const double q : {0.05, 0.5, 0.95}) {
        EXPECT_NEAR(sketch.quantile(q), 1000 * q, 25);
    }
    EXPECT_TRUE(std::isnan(QuantileSketch().quantile(0.5)));
}

class ProfileTest : public ::testing::Test {
 protected:
    static constexpr int kRequests = 500, kRowsPerRequest = 8;

    /// request, user, price (float, 20 % nulls), count (int32 0..9), word, label, items (list, the
    /// same for a request). `isScattered`: the rows of a request are far apart.
    static std::shared_ptr<arrow::RecordBatch> rows(bool isScattered) {
        std::vector<int> order;
        for (int i = 0; i < kRequests * kRowsPerRequest; ++i) {
            order.push_back(i);
        }
        if (isScattered) {
            std::mt19937 random(5);
            std::shuffle(order.begin(), order.end(), random);
        }
        arrow::Int64Builder request, user;
        arrow::FloatBuilder price;
        arrow::Int32Builder few, label;
        arrow::StringBuilder word;
        auto item = std::make_shared<arrow::Int64Builder>();
        arrow::ListBuilder items(arrow::default_memory_pool(), item);
        for (const int i : order) {
            const int r = i / kRowsPerRequest;
            bool ok = request.Append(100'000 + r).ok() && user.Append(r % 90).ok() &&
                      few.Append(i % 10).ok() && label.Append(i % 4 == 0 ? 1 : 0).ok() &&
                      word.Append(strCat("w", i % 30)).ok() && items.Append().ok();
            ok = ok && (i % 5 == 0 ? price.AppendNull()
                                   : price.Append(0.25F * static_cast<float>(i % 977)))
                           .ok();
            for (int k = 0; k < 20 + r % 7; ++k) {
                ok = ok && item->Append(std::int64_t{r} * 1000003 % 50021 + k).ok();
            }
            EXPECT_TRUE(ok);
        }
        return arrow::RecordBatch::Make(
            arrow::schema({arrow::field("request_id", arrow::int64()),
                           arrow::field("user_id", arrow::int64()),
                           arrow::field("price", arrow::float32()),
                           arrow::field("few", arrow::int32()), arrow::field("word", arrow::utf8()),
                           arrow::field("label", arrow::int32()),
                           arrow::field("items", arrow::list(arrow::int64()))}),
            static_cast<std::int64_t>(order.size()),
            {*request.Finish(), *user.Finish(), *price.Finish(), *few.Finish(), *word.Finish(),
             *label.Finish(), *items.Finish()});
    }

    std::shared_ptr<const dataset::Dataset> write(const arrow::RecordBatch& batch,
                                                  bool hasFloatDictionary = true,
                                                  std::int64_t groupRows = 1000) {
        table::WriterOptions options;
        options.hasFloatDictionary = hasFloatDictionary;
        const std::string path = directory_ / "data.parquet";
        auto writer = table::TableWriter::open(path, batch.schema(), options);
        EXPECT_TRUE(writer.ok()) << writer.status();
        for (std::int64_t at = 0; at < batch.num_rows(); at += groupRows) {
            EXPECT_TRUE((*writer)->write(*batch.Slice(at, groupRows)).ok());
        }
        EXPECT_TRUE((*writer)->close().ok());
        auto dataset =
            dataset::Dataset::open({path}, "/", {}, std::make_shared<dataset::MetadataCache>());
        EXPECT_TRUE(dataset.ok()) << dataset.status();
        return *dataset;
    }

    DatasetProfile profileOf(const std::shared_ptr<const dataset::Dataset>& dataset,
                             int threads = 2, bool advises = true, double seconds = 100) {
        ProfileOptions options;
        options.dataset = "{path: [my data.parquet]}";
        options.threads = threads;
        options.seconds = seconds;
        options.advises = advises;
        options.directory = directory_.path();
        ProfileProgress progress;
        auto profiled = profile(dataset, options, progress, {});
        EXPECT_TRUE(profiled.ok()) << profiled.status();
        return std::move(*profiled);
    }

    static const Advice* find(const DatasetProfile& profile, const std::string& kind) {
        for (const Advice& advice : profile.advice) {
            if (advice.kind == kind) {
                return &advice;
            }
        }
        return nullptr;
    }

    tests::TempDir directory_;
};

TEST_F(ProfileTest, DescribesEveryColumn) {
    const DatasetProfile all = profileOf(write(*rows(false)), 2, false);
    EXPECT_TRUE(all.isComplete());
    EXPECT_EQ(all.rowsRead, kRequests * kRowsPerRequest);
    const ColumnProfile& price = all.columns[2];
    EXPECT_EQ(price.nulls(), kRequests * kRowsPerRequest / 5);
    EXPECT_EQ(price.min(), 0);
    EXPECT_EQ(price.max(), 0.25 * 976);
    EXPECT_NEAR(price.quantile(0.5), 0.25 * 488, 15);
    EXPECT_NEAR(all.columns[1].distinct(), 90, 4);
    EXPECT_NEAR(all.columns[4].distinct(), 30, 2);
    EXPECT_TRUE(all.columns[5].isZeroOne());
    EXPECT_FALSE(all.columns[3].isZeroOne());
    EXPECT_NEAR(all.columns[6].meanLength(), 23, 0.5);
    EXPECT_GT(all.costs.at("items").cpuSeconds, 0);
}

TEST_F(ProfileTest, IsTheSameForAnyNumberOfThreads) {
    const auto dataset = write(*rows(true));
    Json one = profileOf(dataset, 1, false).toJson();
    Json three = profileOf(dataset, 3, false).toJson();
    for (Json* json : {&one, &three}) {
        for (Json& column : (*json)["columns"]) {
            column.erase("read_ns_per_row");
        }
    }
    EXPECT_EQ(one, three);
}

TEST_F(ProfileTest, ReadsOneSplitAtLeastAndSaysSo) {
    const DatasetProfile some = profileOf(write(*rows(false)), 1, false, 0);
    EXPECT_EQ(some.splitsRead, 1);
    EXPECT_EQ(some.splits, 4);
    EXPECT_FALSE(some.isComplete());
}

TEST_F(ProfileTest, FindsTheRequestAlsoWhereItsRowsAreScattered) {
    const auto grouped = findRequest(*rows(false), "");
    ASSERT_TRUE(grouped);
    EXPECT_EQ(grouped->column, "request_id");
    EXPECT_EQ(grouped->adjacentShare(), 1);
    EXPECT_NEAR(grouped->rowsPerRequest, 8, 1e-9);
    const auto scattered = findRequest(*rows(true), "");
    ASSERT_TRUE(scattered);
    EXPECT_EQ(scattered->column, "request_id");
    EXPECT_LT(scattered->adjacentShare(), 0.05);
    const auto without = rows(false)->RemoveColumn(6);
    EXPECT_FALSE(findRequest(**without, "")) << "no lists, no request";
    EXPECT_EQ(findRequest(**without, "user_id")->column, "user_id");
}

// A shop, a session of four rows, and lists of texts: each row's own, the session's, or all equal.
TEST_F(ProfileTest, TakesNoColumnForTheRequestWhoseRowsDoNotShareTheirLists) {
    enum class Lists : std::uint8_t { kOfRow, kOfSession, kEqual };
    const auto batch = [](Lists kind) {
        arrow::StringBuilder shop;
        arrow::Int64Builder session;
        auto item = std::make_shared<arrow::StringBuilder>();
        arrow::ListBuilder items(arrow::default_memory_pool(), item);
        for (int i = 0; i < 400; ++i) {
            const int text = kind == Lists::kOfRow ? i : kind == Lists::kOfSession ? i / 4 : 0;
            EXPECT_TRUE(shop.Append(i % 3 == 0 ? "Bonn" : "Trier").ok() &&
                        session.Append(i / 4).ok() && items.Append().ok() &&
                        item->Append(strCat("item", text)).ok());
        }
        return arrow::RecordBatch::Make(
            arrow::schema({arrow::field("shop", arrow::utf8()),
                           arrow::field("session", arrow::int64()),
                           arrow::field("items", arrow::list(arrow::utf8()))}),
            400, {*shop.Finish(), *session.Finish(), *items.Finish()});
    };
    EXPECT_FALSE(findRequest(*batch(Lists::kOfRow), ""));
    EXPECT_FALSE(findRequest(*batch(Lists::kEqual), "")) << "every column shares equal lists";
    const auto shared = findRequest(*batch(Lists::kOfSession), "");
    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->column, "session");
}

TEST_F(ProfileTest, AdvisesOnScatteredRequestsWithTheCommandThatSortsThem) {
    const DatasetProfile bad = profileOf(write(*rows(true), true, 4000));
    const Advice* scattered = find(bad, "scattered_requests");
    ASSERT_NE(scattered, nullptr);
    EXPECT_TRUE(scattered->isMeasured);
    EXPECT_GT(scattered->bytesFactor, 1.5) << scattered->finding;
    EXPECT_THAT(scattered->command, HasSubstr("--sort request_id"));
    EXPECT_THAT(scattered->command, HasSubstr("'dataset: {path: [my data.parquet]}' > "));
    const DatasetProfile good = profileOf(write(*rows(false), true, 4000));
    ASSERT_NE(find(good, "scattered_requests"), nullptr);
    EXPECT_EQ(find(good, "scattered_requests")->command, "");
}

TEST_F(ProfileTest, AdvisesOnFloatsUnderADictionaryAndOnlyThen) {
    const DatasetProfile with = profileOf(write(*rows(false), true, 4000));
    ASSERT_NE(find(with, "float_dictionary"), nullptr);
    EXPECT_THAT(find(with, "float_dictionary")->finding, HasSubstr("1 float column has"));
    const DatasetProfile without = profileOf(write(*rows(false), false, 4000));
    EXPECT_EQ(find(without, "float_dictionary"), nullptr);
}

TEST_F(ProfileTest, AdvisesOnSmallRowGroups) {
    const DatasetProfile small = profileOf(write(*rows(false), true, 50));
    const Advice* advice = find(small, "row_groups");
    ASSERT_NE(advice, nullptr);
    EXPECT_THAT(advice->finding, HasSubstr("50 rows on average"));
    EXPECT_GT(advice->bytesFactor, 1) << advice->finding;
    ASSERT_NE(find(small, "codec"), nullptr);
    EXPECT_THAT(find(small, "codec")->finding, HasSubstr("codec zstd"));
}

TEST_F(ProfileTest, AdvisesOnLargeRowGroupsUnlessAPageIndexLeadsThroughThem) {
    AdviceInput input;
    input.format = "parquet";
    input.columns = profileOf(write(*rows(false)), 1, false).facts;
    input.rows = 1'000'000;
    input.rowGroups = 1;
    input.decodedBytes = 1'024'000'000;
    for (const bool hasIndex : {true, false}) {
        input.columns.back().hasPageIndex = hasIndex;
        const std::vector<Advice> advice = advise(input, {});
        ASSERT_EQ(advice.size(), 1U);
        EXPECT_THAT(advice[0].finding,
                    HasSubstr(hasIndex ? "leads each of them" : "2.50x the pages"));
        EXPECT_EQ(advice[0].command.empty(), hasIndex);
    }
}

TEST_F(ProfileTest, PagesAreMeasuredByColumn) {
    const auto dataset = write(*rows(false));
    const auto costs = measurePages(*dataset, {"items", "price"}, 100);
    ASSERT_TRUE(costs.ok()) << costs.status();
    EXPECT_EQ(costs->size(), 2U);
    EXPECT_EQ(costs->at("items").codec, "zstd");
    EXPECT_GT(costs->at("items").nsPerRow, 0);
    EXPECT_TRUE(measurePages(*dataset, {"items"}, -1)->empty()) << "no time, no figure";
}

TEST_F(ProfileTest, TheAdvisorLeavesNothingBehind) {
    profileOf(write(*rows(true)));
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
        names.insert(entry.path().filename().string());
    }
    EXPECT_EQ(names, (std::set<std::string>{"data.parquet"}));
}

TEST_F(ProfileTest, AFirstSpecNamesLabelFeaturesAndRequest) {
    const DatasetProfile all = profileOf(write(*rows(false)), 2, false);
    FirstSpecOptions options;
    options.name = "first";
    options.paths = {"data/*.parquet"};
    const auto spec = firstSpec(all, options);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->label, "label");
    EXPECT_THAT(spec->text, HasSubstr("label: 'label = 1'"));
    EXPECT_THAT(spec->text, HasSubstr("path: \"data/*.parquet\""));
    EXPECT_THAT(spec->text, HasSubstr("dense:\n    - {column: price, fill: "));
    EXPECT_THAT(spec->text, HasSubstr("user_id: {vocabulary: auto}"));
    EXPECT_THAT(spec->text, HasSubstr("lists:\n    - items"));
    EXPECT_THAT(spec->text, HasSubstr("request: request_id"));
    EXPECT_THAT(spec->text, HasSubstr("shuffle: requests"));
    EXPECT_THAT(spec->text, HasSubstr("hash01(request_id) < 0.9"));
    options.label = "lable";
    const auto unknown = firstSpec(all, options);
    ASSERT_FALSE(unknown.ok());
    EXPECT_THAT(std::string(messageOf(unknown.status())), HasSubstr("did you mean 'label'"));
}

// Columns of values(r) for each row, by name.
DatasetProfile profileWith(const std::vector<ColumnProfile>& columns, std::int64_t rows) {
    DatasetProfile profile;
    profile.columns = columns;
    profile.rows = profile.rowsRead = rows;
    return profile;
}

// 1,000 values, of which the first are null.
ColumnProfile integers(const std::string& name, std::int64_t modulo, std::int64_t nulls = 0) {
    arrow::Int64Builder builder;
    for (std::int64_t r = 0; r < 1000; ++r) {
        EXPECT_TRUE((r < nulls ? builder.AppendNull() : builder.Append(r % modulo)).ok());
    }
    return columnOf(name, {expr::TypeKind::kInt64}, *builder.Finish());
}

TEST(SpecSplit, TheLatestTenthByATimeIsKeptForEvaluation) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::MICRO),
                                    arrow::default_memory_pool());
    for (std::int64_t r = 0; r < 1000; ++r) {
        ASSERT_TRUE(builder.Append(1'700'000'000'000'000 + r * 60'000'000).ok());
    }
    const DatasetProfile profile = profileWith(
        {columnOf("at", {expr::TypeKind::kTimestamp}, *builder.Finish()), integers("user", 500)},
        1000);
    const auto split = chooseSplit(profile, {{profile.columns[0], "at"}}, {&profile.columns[1]});
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_THAT(split->train, ::testing::StartsWith("at < timestamp '2023-11-15 13:"));
    EXPECT_THAT(split->eval, ::testing::StartsWith("at >= timestamp '2023-11-15 13:"));
    EXPECT_EQ(split->instead, "hash01(user)");
}

TEST(SpecSplit, AConstantColumnIsNeverAKeyAndAConstantTimeNoBorder) {
    const DatasetProfile profile =
        profileWith({integers("year_id", 1), integers("ts", 1), integers("value", 700)}, 1000);
    const auto split = chooseSplit(profile, {{profile.columns[1], "ts"}},
                                   {&profile.columns[0], &profile.columns[2]});
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(split->train, "hash01(value) < 0.9");
    EXPECT_EQ(split->eval, "hash01(value) >= 0.9");
}

TEST(SpecSplit, SeveralKeysAreMoreThanTheirProductAsksFor) {
    const DatasetProfile profile =
        profileWith({integers("customer", 300), integers("age", 60), integers("item", 200)}, 1000);
    const auto split =
        chooseSplit(profile, {}, {&profile.columns[0], &profile.columns[1], &profile.columns[2]});
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(split->train, "hash01(customer, age, item) < 0.9") << "age may follow from customer";
}

TEST(SpecSplit, RowsWithoutAnyKeyAreToldApartByAColumnWithoutNulls) {
    const auto splitBy = [](std::int64_t nullsOfAge) {
        const DatasetProfile profile =
            profileWith({integers("user", 1000, 60), integers("lnw", 1000, 60),
                         integers("bmi", 1000, 60), integers("age", 40, nullsOfAge)},
                        1000);
        return chooseSplit(
            profile, {},
            {&profile.columns[0], &profile.columns[1], &profile.columns[2], &profile.columns[3]});
    };
    const auto split = splitBy(0);
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(split->train, "hash01(user, lnw, bmi, age) < 0.9");
    EXPECT_THAT(split->why, ::testing::StartsWith("About a tenth of the rows"));
    const auto rough = splitBy(60);
    ASSERT_TRUE(rough.ok()) << rough.status();
    EXPECT_EQ(rough->train, "hash01(user, lnw, bmi) < 0.9");
    EXPECT_THAT(rough->why, ::testing::StartsWith("About a tenth of the rows"));
}

TEST(SpecSplit, RowsThatNothingTellsApartAreRefused) {
    const DatasetProfile profile = profileWith({integers("a", 1), integers("b", 3)}, 1000);
    const auto split = chooseSplit(profile, {}, {&profile.columns[0], &profile.columns[1]});
    EXPECT_THAT(std::string(messageOf(split.status())), HasSubstr("no columns tell rows apart"));
    const DatasetProfile tiny = profileWith({integers("id", 12)}, 12);
    EXPECT_THAT(std::string(messageOf(chooseSplit(tiny, {}, {&tiny.columns[0]}).status())),
                HasSubstr("12 rows are too few to keep a part for evaluation; 20 are the fewest"));
}

}  // namespace
}  // namespace millrace::profile
