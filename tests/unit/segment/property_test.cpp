// Random schemas, data, files, recipes, batches, orders, threads, ranks, resume points and, with
// every other seed, data workers that are lost: compares the engine with a slow oracle, row by row
// and by the order hash. A failure prints its seed.
//
// MILLRACE_PROPERTY_SEED=N runs only seed N. MILLRACE_PROPERTY_SEEDS=N runs N seeds, with a resume
// at every cursor.
#include <cstdlib>
#include <random>

#include "backend/stream/read_state.h"
#include "tests/unit/segment/stream_fixture.h"
#include "tests/unit/segment/stream_oracle.h"

namespace millrace::segment {
namespace {

using namespace test;
using frame::FrameView;
using frame::Role;

constexpr std::uint64_t kSeeds = 25;

/// A row of a frame, as the oracle's expected() writes it.
std::string found(const FrameView& view, const spec::RunSpec& spec, std::uint32_t r) {
    const auto at = [&view](Role role, const std::string& name) {
        const int column = view.find(role, name);
        EXPECT_GE(column, 0) << name;
        return static_cast<std::size_t>(column);
    };
    std::string out = strCat("row ", view.rowNumbers()[r], " weight ",
                             shown(view.values<float>(at(Role::kWeight, "l"))[r]));
    const std::size_t width = spec.features.dense.size();
    for (std::size_t d = 0; d < width; ++d) {
        strAppend(&out, " ", spec.features.dense[d].column, "=",
                  shown(view.values<float>(at(Role::kDense, "dense"))[r * width + d]));
    }
    for (const std::string& name : spec.features.ids) {
        strAppend(&out, " ", name, "#", view.values<std::int64_t>(at(Role::kId, name))[r]);
    }
    const auto bounds = [&](std::size_t column) {
        const auto item = static_cast<std::size_t>(view.itemOf(column, r));
        const auto offsets = view.offsets(column);
        return std::pair(static_cast<std::size_t>(offsets[item]),
                         static_cast<std::size_t>(offsets[item + 1]));
    };
    for (const std::string& name : spec.features.lists) {
        const std::size_t column = at(Role::kList, name);
        const auto [from, to] = bounds(column);
        strAppend(&out, " ", name, "[");
        for (std::size_t k = from; k < to; ++k) {
            strAppend(&out, view.values<std::int64_t>(column)[k], ",");
        }
        strAppend(&out, "]");
    }
    const std::size_t id = at(Role::kSequence, "past.lihist");
    const auto [from, to] = bounds(id);
    strAppend(&out, " past(");
    for (std::size_t k = from; k < to; ++k) {
        strAppend(&out, view.values<std::int64_t>(id)[k], "/",
                  shown(view.values<float>(at(Role::kSequence, "past.lyhist"))[k]), "/",
                  view.values<std::int64_t>(at(Role::kSequence, "past.litime"))[k], ",");
    }
    return out + ")";
}

/// One rank's share of the micro-batches.
class RankSink final : public RememberingSink {
 public:
    RankSink(int rank, int ranks, std::int64_t most = -1)
        : RememberingSink(most), rank_(rank), ranks_(ranks) {}
    bool wants(std::uint32_t, std::int64_t number) const override {
        return number % ranks_ == rank_;
    }

 private:
    const int rank_, ranks_;
};

class StreamProperty : public StreamTest {
 protected:
    void check(std::uint64_t seed, bool isThorough);

 private:
    void write(Generator& draw);
    void shape(Generator& draw);
    void openStream();
    std::vector<StreamBatch> read(const RememberingSink& sink) const;
    std::vector<StreamBatch> streamed(int threads, int rank = 0, int ranks = 1,
                                      const stream::Cursor& from = {});
    void checkRanks(Generator& draw);
    void checkResume(Generator& draw, std::size_t cut);
    std::set<std::size_t> cuts(Generator& draw, bool isThorough) const;

    static constexpr const char* kDay = "day";
    spec::RunSpec spec_;
    stream::Plan plan_;
    std::vector<OracleStep> steps_;
    std::vector<std::vector<TestRow>> rows_;
    std::shared_ptr<const StreamInput> input_;
    std::vector<StreamBatch> want_;
};

/// Gives each row group of `groupRows` rows a random kind of value: a day that other row groups
/// have too, several days that no other has, or nulls. So the files can be ordered by day.
void drawDays(std::vector<TestRow>& file, std::int64_t groupRows, Generator& draw, int& alone) {
    for (std::size_t r = 0; r < file.size();) {
        const bool isNull = draw.chance(10), isSeveral = draw.chance(20);
        const std::int64_t first = isSeveral ? 100 * ++alone : 100 * draw.upTo(6) + 50;
        for (std::int64_t i = 0; i < groupRows && r < file.size(); ++i, ++r) {
            file[r]["day"] = isNull ? Value{} : Value::of(first + (isSeveral ? i : 0));
        }
    }
}

/// Files of random numbers of rows in random row groups; some requests span several rows.
void StreamProperty::write(Generator& draw) {
    DataDirectory tables;
    rows_.clear();
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directories(directory_.path());
    const int files = 1 + draw.upTo(4);
    rows_.resize(static_cast<std::size_t>(files));
    for (const TestRow& row : draw.rows()) {
        auto& file = rows_[static_cast<std::size_t>(draw.upTo(files))];
        file.push_back(row);
        if (file.size() > 1 && draw.chance(60)) {
            file.back()["ia"] = file[file.size() - 2].at("ia");
            file.back()["lsa"] = file[file.size() - 2].at("lsa");
        }
    }
    const auto move = [&](const std::string& from, const std::string& name) {
        std::filesystem::copy(from, directory_ / name);
    };
    std::vector<std::string> columns = draw.fileColumns();
    columns.emplace_back(kDay);
    int alone = 0;
    for (int f = 0; f < files; ++f) {
        const std::string name = strCat("part-", f, ".parquet");
        auto& rows = rows_[static_cast<std::size_t>(f)];
        const std::int64_t groupRows = 1 + draw.upTo(40);
        drawDays(rows, groupRows, draw, alone);
        const std::int64_t pageRows = draw.chance(50) ? 1 + draw.upTo(8) : 0;
        move(tables.parquet(name, columnsOf(rows, columns), groupRows, pageRows), name);
    }
    for (std::size_t t = 0; t < 2; ++t) {
        const std::string name = strCat("t", t, ".parquet");
        move(tables.parquet(name, columnsOf(draw.table(t).rows, {"ik", "sk", "it", "yv", "iv"})),
             name);
    }
}

/// Recipe, features, batches and order.
void StreamProperty::shape(Generator& draw) {
    const auto one = [&draw](std::initializer_list<const char*> of) {
        return std::string(of.begin()[draw.upTo(static_cast<int>(of.size()))]);
    };
    spec_ = {};
    spec_.name = "property";
    spec_.baseDir = directory_.path();
    spec_.dataset.path = {"part-*.parquet"};
    spec_.dataset.format = "parquet";
    steps_ = draw.recipe();
    for (const OracleStep& step : steps_) {
        spec_.recipe.push_back(step.step);
    }
    addFeatures(spec_, draw.columns(), draw);
    spec_.labels["l"].expr = "coalesce(ia, 0) > 0";
    spec_.batch.seed = static_cast<std::uint64_t>(draw.upTo(1000));
    spec_.batch.microRows = 1 + draw.upTo(20);
    spec_.batch.rows = spec_.batch.microRows * 2;
    spec_.batch.epochs = 1 + draw.upTo(3);
    spec_.batch.segmentSplits = 1 + draw.upTo(4);
    spec_.batch.order = one({"permuted", "permuted", "as_is", "by"});
    spec_.batch.orderBy = spec_.batch.order == "by" ? kDay : "";
    spec_.batch.shuffle = one({"rows", "requests", "none"});
    if (spec_.batch.shuffle == "requests" || draw.chance(30)) {
        spec_.features.request = "ia";
        spec_.features.dedup = one({"best_effort", "off"});
    }
}

void StreamProperty::openStream() {
    auto cache = std::make_shared<dataset::MetadataCache>();
    const auto data = dataset::Dataset::open(spec_.dataset.path, spec_.baseDir,
                                             dataset::readOptionsOf(spec_.dataset), cache);
    ASSERT_TRUE(data.ok()) << data.status();
    const auto bound = spec::bindSchema(spec_, (*data)->schema(),
                                        recipe::diskTables({spec_.baseDir, cache}).schema);
    ASSERT_TRUE(bound.ok()) << spec::toStatus(bound.errors, "spec");
    const auto plan = dataset::buildPlan(spec_, **data, nullptr);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *plan;
    auto input = StreamInput::open(spec_, plan_, recipe::Part::kTrain, budget_);
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *input;
}

std::vector<StreamBatch> StreamProperty::read(const RememberingSink& sink) const {
    std::vector<StreamBatch> batches;
    for (const SeenBatch& seen : sink.batches()) {
        frame::FrameBuffer aligned(seen.bytes.size());
        std::memcpy(aligned.bytes().data(), seen.bytes.data(), seen.bytes.size());
        const auto view = FrameView::open(aligned.bytes());
        EXPECT_TRUE(view.ok()) << view.status();
        StreamBatch batch{seen.epoch, seen.number, {}};
        for (std::uint32_t r = 0; r < view->rows(); ++r) {
            batch.rows.push_back(
                {view->rowFiles()[r], view->rowNumbers()[r], found(*view, spec_, r)});
        }
        batches.push_back(std::move(batch));
    }
    return batches;
}

std::vector<StreamBatch> StreamProperty::streamed(int threads, int rank, int ranks,
                                                  const stream::Cursor& from) {
    RankSink sink(rank, ranks);
    const Status status =
        run(input_, sink, threads, static_cast<std::uint32_t>(spec_.batch.epochs), from);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(sink.hasEnded);
    return read(sink);
}

/// Each rank has its share, and together they have everything.
void StreamProperty::checkRanks(Generator& draw) {
    const int ranks = 2 + draw.upTo(3);
    stream::OrderHash sum;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<StreamBatch> share;
        std::copy_if(want_.begin(), want_.end(), std::back_inserter(share),
                     [&](const StreamBatch& batch) { return batch.number % ranks == rank; });
        const auto got = streamed(1 + draw.upTo(3), rank, ranks);
        ASSERT_EQ(got.size(), share.size()) << "rank " << rank << " of " << ranks;
        ASSERT_TRUE(got == share) << "rank " << rank << " of " << ranks;
        sum.add(*stream::OrderHash::fromHex(hashOf(got)));
    }
    ASSERT_EQ(sum.hex(), hashOf(want_));
}

/// Rows delivered before the cut and rows from the cursor's text are the whole stream.
void StreamProperty::checkResume(Generator& draw, std::size_t cut) {
    RememberingSink before(cut == want_.size() ? -1 : static_cast<std::int64_t>(cut));
    stream::Cursor cursor;
    const Status stopped = run(input_, before, 1 + draw.upTo(3),
                               static_cast<std::uint32_t>(spec_.batch.epochs), {}, &cursor);
    ASSERT_EQ(stopped.ok(), cut == want_.size()) << stopped;
    const auto text = stream::readCursor(cursor.toText());
    ASSERT_TRUE(text.ok()) << text.status();
    SCOPED_TRACE(strCat("cut after ", cut, ": ", cursor.toText()));
    std::vector<StreamBatch> joined = read(before);
    ASSERT_EQ(joined.size(), cut);
    const auto rest = streamed(1 + draw.upTo(3), 0, 1, *text);
    stream::OrderHash sum = *stream::OrderHash::fromHex(hashOf(joined));
    sum.add(*stream::OrderHash::fromHex(hashOf(rest)));
    joined.insert(joined.end(), rest.begin(), rest.end());
    ASSERT_TRUE(joined == want_);
    ASSERT_EQ(sum.hex(), hashOf(want_));
}

/// The start, the end, each epoch's border and its neighbours, and some positions between; or all
/// positions.
std::set<std::size_t> StreamProperty::cuts(Generator& draw, bool isThorough) const {
    std::set<std::size_t> cuts = {0, want_.size()};
    for (std::size_t i = 0; i < want_.size(); ++i) {
        const bool isBorder = i > 0 && want_[i].epoch != want_[i - 1].epoch;
        if (isThorough || isBorder) {
            cuts.insert({i - (i > 0 ? 1 : 0), i, i + 1});
        }
    }
    for (int i = 0; i < 3 && !want_.empty(); ++i) {
        cuts.insert(static_cast<std::size_t>(draw.upTo(static_cast<int>(want_.size()))));
    }
    return cuts;
}

void StreamProperty::check(std::uint64_t seed, bool isThorough) {
    Generator draw(seed, 20 + static_cast<std::int64_t>(seed * 37 % 200));
    write(draw);
    shape(draw);
    std::string described =
        strCat("seed ", seed, ": ", rows_.size(), " files, micro_rows ", spec_.batch.microRows,
               ", segment_splits ", spec_.batch.segmentSplits, ", epochs ", spec_.batch.epochs,
               ", ", spec_.batch.order, ", ", spec_.batch.shuffle, ", request '",
               spec_.features.request, "' ", spec_.features.dedup);
    for (const OracleStep& step : steps_) {
        strAppend(&described, "\n  - ", step.step.line());
    }
    // Pieces with one row, a few, most or all rows of a split.
    constexpr std::int64_t kSizes[] = {1, 2, 7, 30, 100, 10'000};
    pieceRows_ = kSizes[seed % std::size(kSizes)];
    strAppend(&described, "\npieces of ", pieceRows_, " rows");
    elsewhere_ = {};
    if (seed % 2 == 0) {
        elsewhere_ = {1 + draw.upTo(6), 1 + 500 * draw.upTo(100)};
        workers_ = {};
        workers_.seed = seed;
        workers_.workers = 1 + draw.upTo(4);
        workers_.lost = draw.upTo(10);
        workers_.again = draw.upTo(10);
        workers_.computesHere = draw.chance(50);
        strAppend(&described, "\n", workers_.workers, " workers");
    }
    SCOPED_TRACE(described);
    ASSERT_NO_FATAL_FAILURE(openStream());
    const StreamOracle oracle(spec_, steps_, plan_, rows_);
    want_.clear();
    for (std::uint32_t epoch = 0; epoch < spec_.batch.epochs; ++epoch) {
        const auto batches = oracle.epoch(epoch);
        want_.insert(want_.end(), batches.begin(), batches.end());
    }
    for (const int threads : {1, 2 + draw.upTo(4)}) {
        const auto got = streamed(threads);
        ASSERT_EQ(hashOf(got), hashOf(want_)) << threads << " threads";
        ASSERT_EQ(got.size(), want_.size()) << threads << " threads";
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].number, want_[i].number);
            ASSERT_EQ(got[i].rows.size(), want_[i].rows.size());
            for (std::size_t r = 0; r < got[i].rows.size(); ++r) {
                ASSERT_EQ(got[i].rows[r].text, want_[i].rows[r].text) << "batch " << i;
            }
        }
    }
    ASSERT_NO_FATAL_FAILURE(checkRanks(draw));
    for (const std::size_t cut : cuts(draw, isThorough)) {
        ASSERT_NO_FATAL_FAILURE(checkResume(draw, cut));
    }
}

TEST_F(StreamProperty, IsTheOraclesForAnyDataRecipeThreadsRanksAndResumePoints) {
    if (const char* one = std::getenv("MILLRACE_PROPERTY_SEED"); one != nullptr) {
        ASSERT_NO_FATAL_FAILURE(check(std::strtoull(one, nullptr, 10), true));
        return;
    }
    const char* many = std::getenv("MILLRACE_PROPERTY_SEEDS");
    const std::uint64_t seeds = many == nullptr ? kSeeds : std::strtoull(many, nullptr, 10);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        ASSERT_NO_FATAL_FAILURE(check(seed, many != nullptr));
    }
}

}  // namespace
}  // namespace millrace::segment
