// Whether files are sorted by user or request: the notes, and the part of the files that is read.
#include "daemon/worker/loader/checks/mixing.h"

#include <functional>

#include <gmock/gmock.h>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/filesystem/files.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"
#include "tests/support/temp_dir.h"

namespace millrace::loader {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MixingTest : public ::testing::Test {
 protected:
    static constexpr int kRows = 600, kSplitRows = 100;  // a segment is one split

    static int sorted(int row) { return row / 20; }  // 5 in a segment
    static int mixed(int row) { return row * 7 % 30; }

    // The notes for files whose rows have these users and requests.
    std::vector<std::string> notes(const std::function<int(int)>& user,
                                   const std::function<int(int)>& request,
                                   const MixingBounds& bounds = {},
                                   const std::string& batch = "shuffle: rows") {
        std::string text = "user,request,label\n";
        for (int row = 0; row < kRows; ++row) {
            strAppend(&text, user(row), ",", request(row), ",", row % 2, "\n");
        }
        EXPECT_TRUE(writeFileAtomic(directory_ / "a.csv", text).ok());
        spec::SpecOptions options;
        options.baseDir = directory_.path();
        const spec::ResolvedSpec read =
            spec::readSpec(strCat("name: t\n"
                                  "dataset: {path: a.csv, csv_split_rows: ",
                                  kSplitRows,
                                  "}\n"
                                  "labels: {label: label}\n"
                                  "features: {dense: [user], user: user, request: request}\n"
                                  "model: {type: mlp, hidden: [4]}\n"
                                  "batch: {rows: 64, micro_rows: 16, segment_splits: 1, ",
                                  batch, "}\n"),
                           options);
        EXPECT_TRUE(read.ok()) << spec::toStatus(read.errors, "spec");
        spec::RunSpec spec = *read.spec;
        const auto cache = std::make_shared<dataset::MetadataCache>();
        const auto data = dataset::Dataset::open(spec.dataset.path, spec.baseDir,
                                                 dataset::readOptionsOf(spec.dataset), cache);
        EXPECT_TRUE(data.ok()) << data.status();
        const auto tables = recipe::diskTables({spec.baseDir, cache});
        const auto bound = spec::bindSchema(spec, (*data)->schema(), tables.schema);
        EXPECT_TRUE(bound.ok()) << spec::toStatus(bound.errors, "spec");
        const auto found = checkMixing(spec, *dataset::buildPlan(spec, **data, nullptr), bounds);
        EXPECT_TRUE(found.ok()) << found.status();
        return found.ok() ? *found : std::vector<std::string>{"failed"};
    }

    tests::TempDir directory_;
};

TEST_F(MixingTest, AKeyThatFilesAreSortedByIsNamedWithItsNumberInASegment) {
    EXPECT_THAT(notes(sorted, mixed),
                ElementsAre(HasSubstr("features.user: a segment (batch.segment_splits: 1) "
                                      "holds 5 different values of 'user' and the next one "
                                      "others")));
    EXPECT_THAT(notes(mixed, sorted),
                ElementsAre(HasSubstr("features.request: a segment (batch.segment_splits: 1) holds "
                                      "5 different values of 'request'")));
    EXPECT_THAT(notes(sorted, sorted),
                ElementsAre(HasSubstr("features.user"), HasSubstr("features.request")));
    EXPECT_THAT(notes(mixed, mixed), IsEmpty());
}

TEST_F(MixingTest, AsManyKeysAsAreEnoughAreNoMatter) {
    MixingBounds bounds;
    bounds.keysEnough = 6;
    EXPECT_EQ(notes(sorted, mixed, bounds).size(), 1U);
    bounds.keysEnough = 5;
    EXPECT_THAT(notes(sorted, mixed, bounds), IsEmpty());
    EXPECT_THAT(notes(sorted, sorted, bounds), IsEmpty());
}

TEST_F(MixingTest, KeysBeyondTheBoundDoNotHideTheOtherKey) {
    const auto own = [](int row) { return row; };  // 100 in a segment, then others
    MixingBounds bounds;
    bounds.keysEnough = 8;
    EXPECT_THAT(notes(own, sorted, bounds), ElementsAre(HasSubstr("features.request")));
    EXPECT_THAT(notes(own, sorted), ElementsAre(HasSubstr("holds 100 different values of 'user'"),
                                                HasSubstr("features.request")));
}

TEST_F(MixingTest, SegmentsBeyondTheBoundInBytesAreNotLookedAt) {
    MixingBounds bounds;
    bounds.bytesMax = 1;
    EXPECT_THAT(notes(sorted, sorted, bounds), IsEmpty());
}

TEST_F(MixingTest, WhatIsNotShuffledIsNotLookedAt) {
    EXPECT_THAT(notes(sorted, sorted, {}, "shuffle: none"), IsEmpty());
    EXPECT_THAT(notes(sorted, sorted, {}, "shuffle: rows, order: as_is"), IsEmpty());
}

}  // namespace
}  // namespace millrace::loader
