// Lists that are stored once per request: the same rows as without, the contract, the probe.
#include "tests/unit/segment/request_fixture.h"

namespace millrace::segment {
namespace {

class DedupTest : public RequestTest {};

TEST_F(DedupTest, GivesTheSameRowsAsExpandedListsWhateverTheOrder) {
    writeFiles();
    for (const std::string shuffle : {"none", "rows", "requests"}) {
        RememberingSink off, required;
        ASSERT_TRUE(
            run(open(specText("request: request, dedup: \"off\", lists: [history]", shuffle)), off,
                1)
                .ok());
        ASSERT_TRUE(
            run(open(specText("request: request, dedup: required, lists: [history]", shuffle)),
                required, 3)
                .ok());
        EXPECT_EQ(off.orderHash(), required.orderHash()) << shuffle;
        const Lists lists = listsOf(off.batches(), "history");
        EXPECT_GT(lists.size(), 8'000U);  // of two epochs
        EXPECT_EQ(lists, listsOf(required.batches(), "history")) << shuffle;
    }
}

TEST_F(DedupTest, StoresAListOnceARequestWhereRowsStayTogether) {
    writeFiles();
    RememberingSink sink;
    ASSERT_TRUE(
        run(open(specText("request: request, dedup: required, lists: [history]", "requests")), sink,
            2)
            .ok());
    std::size_t rows = 0, items = 0;
    for (const SeenBatch& batch : sink.batches()) {
        const auto view = viewOf(batch);
        ASSERT_GE(view.inverseColumn(), 0);
        rows += view.rows();
        items += view.header().requests;
    }
    // Requests of seven rows, one in four reduced to half; some are cut by a frame's border.
    EXPECT_LT(items * 4, rows);
    EXPECT_GT(items * 8, rows);
}

TEST_F(DedupTest, AListThatChangesWithinARequestIsNamed) {
    writeFiles(1502);
    RememberingSink sink;
    const Status status =
        run(open(specText("request: request, dedup: required, lists: [history]", "none")), sink, 2);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const std::string word : {"part-0.parquet", "row 1502", "history", "best_effort"}) {
        EXPECT_NE(sink.errorText.find(word), std::string::npos) << sink.errorText;
    }
}

TEST_F(DedupTest, BestEffortStoresApartWhatChanges) {
    writeFiles(1502);
    RememberingSink off, best;
    ASSERT_TRUE(run(open(specText("lists: [history, tags]", "none")), off, 1).ok());
    ASSERT_TRUE(
        run(open(specText("request: request, lists: [history, tags]", "none")), best, 2).ok());
    for (const std::string name : {"history", "tags"}) {
        EXPECT_EQ(listsOf(off.batches(), name), listsOf(best.batches(), name)) << name;
    }
    // The first rows of the plan show which columns are worth it.
    const std::vector<SeenBatch> batches = best.batches();
    const auto view = viewOf(batches.front());
    const auto flags = [&view](const std::string& name) {
        return view.entry(static_cast<std::size_t>(view.find(frame::Role::kList, name))).flags;
    };
    EXPECT_EQ(flags("history"), frame::kDedup);
    EXPECT_EQ(flags("tags"), 0);
}

TEST_F(DedupTest, BestEffortLooksAtListsThatTheRecipeMakes) {
    writeFiles();
    std::string text = specText("request: request, lists: [history, short, own]", "none");
    const std::string filter = "recipe: [";
    text.insert(text.find(filter) + filter.size(),
                "{truncate: {column: history, as: short, length: 2}}, "
                "{truncate: {column: tags, as: own, length: 1}}, ");
    RememberingSink sink;
    ASSERT_TRUE(run(open(text), sink, 2).ok());
    const std::vector<SeenBatch> batches = sink.batches();
    const auto view = viewOf(batches.front());
    const auto isDedup = [&view](const std::string& name) {
        const auto column = static_cast<std::size_t>(view.find(frame::Role::kList, name));
        return (view.entry(column).flags & frame::kDedup) != 0;
    };
    EXPECT_TRUE(isDedup("history"));
    EXPECT_TRUE(isDedup("short"));
    EXPECT_FALSE(isDedup("own"));
}

TEST_F(DedupTest, StepsOnStoredListsGiveEveryRowItsOwn) {
    writeFiles();
    const auto textWith = [&](const std::string& features, const std::string& shuffle) {
        std::string text = specText(features, shuffle);
        const std::string filter = "recipe: [";
        text.insert(text.find(filter) + filter.size(),
                    "{truncate: {column: history, as: short, length: 2, from: last}}, "
                    "{derive: {buckets: \"hash_ids(history, 100)\", length: \"len(history)\"}}, "
                    "{truncate: {column: buckets, as: few, length: 1}}, ");
        return text;
    };
    for (const std::string shuffle : {"none", "rows"}) {
        RememberingSink off, once;
        const std::string lists = "lists: [short, buckets, few], ids: [length]";
        ASSERT_TRUE(
            run(open(textWith("request: request, dedup: \"off\", " + lists, shuffle)), off, 1)
                .ok());
        ASSERT_TRUE(
            run(open(textWith("request: request, dedup: required, " + lists, shuffle)), once, 2)
                .ok())
            << once.errorText;
        EXPECT_EQ(off.orderHash(), once.orderHash());
        for (const char* name : {"short", "buckets", "few"}) {
            EXPECT_EQ(listsOf(off.batches(), name), listsOf(once.batches(), name)) << name;
        }
        ASSERT_EQ(off.records.size(), once.records.size());
        std::int64_t cut = 0;
        for (std::size_t s = 0; s < off.records.size(); ++s) {
            const stream::SegmentSums& sums = off.records[s].sums;
            EXPECT_EQ(sums, once.records[s].sums) << s;
            for (const auto& [name, rows] : sums.counts) {
                cut += name.ends_with("/cut") ? rows : 0;
            }
        }
        EXPECT_GT(cut, 1000);
    }
}

}  // namespace
}  // namespace millrace::segment
