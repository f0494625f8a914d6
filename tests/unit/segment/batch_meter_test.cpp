// The meter of mixing compared with maps, with keys alone and with the frames of a stream.
#include "backend/segment/batch_meter.h"

#include <algorithm>
#include <random>

#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

template <class Key>
BatchMeter::Count slowCount(const std::vector<Key>& keys) {
    std::map<Key, std::int64_t> rows;
    BatchMeter::Count count;
    for (const Key& key : keys) {
        count.most = std::max(count.most, ++rows[key]);
    }
    count.different = static_cast<std::int64_t>(rows.size());
    return count;
}

TEST(BatchMeter, CountsLikeAMapFrameAfterFrame) {
    std::mt19937_64 random(7);
    BatchMeter meter;
    for (int frame = 0; frame < 500; ++frame) {
        const std::size_t rows = 1 + random() % 300;
        const std::uint64_t range = 1 + random() % 400;
        // Runs of one key, keys that differ only in high or low bits, and 0.
        const int shift = frame % 3 == 0 ? 48 : 0;
        std::vector<std::uint64_t> keys;
        while (keys.size() < rows) {
            keys.insert(keys.end(), std::min(rows - keys.size(), 1 + random() % 4),
                        (random() % range) << shift);
        }
        const BatchMeter::Count expected = slowCount(keys), got = meter.count(keys);
        ASSERT_EQ(got.different, expected.different) << frame;
        ASSERT_EQ(got.most, expected.most) << frame;
    }
    EXPECT_EQ(meter.count({}).different, 0);
}

TEST(BatchMeter, SumsAddUpAndKeepTheWorst) {
    BatchMeter meter;
    const std::vector<std::uint64_t> few = {1, 1, 1, 2}, many = {1, 2, 3, 4};
    BatchMix sum;
    sum.add(meter.mixOf(many, few));
    sum.add(meter.mixOf(few, many));
    sum.add({});
    EXPECT_EQ(sum.batches, 2);
    EXPECT_EQ(sum.meanRequests(), 3);
    EXPECT_EQ(sum.fewestRequests, 2);
    EXPECT_EQ(sum.meanUserShare(), 0.5);
    EXPECT_EQ(sum.mostUserShare, 0.75);
    const BatchMix users = meter.mixOf({}, few);
    EXPECT_EQ(users.batches, 1);
    EXPECT_EQ(users.requests, 0) << "no column is named";
}

class MixedStream : public StreamTest {
 protected:
    // Requests of 1 to 9 rows with a user each; every 50th row has neither.
    void SetUp() override {
        for (int f = 0; f < kFiles; ++f) {
            std::ofstream out(directory_ / strCat("part-", f, ".csv"));
            out << "request,user,label\n";
            int request = 0, left = 0;
            for (int r = 0; r < kRowsPerFile; ++r) {
                if (left-- == 0) {
                    request = r + 10'000 * f;
                    left = request % 9;
                }
                const std::string user = strCat("u", request % 41);
                out << (r % 50 == 0 ? "," : strCat(request, ",", user)) << ',' << r % 2 << '\n';
            }
        }
    }

    std::string text(const std::string& shuffle) const {
        return strCat("name: t\ndataset: {path: \"", directory_.path(),
                      "/part-*.csv\", format: csv, csv_split_rows: 100}\n"
                      "recipe: [{filter: \"label = 1 or request is null or request % 3 <> 0\"}]\n"
                      "label: label\nfeatures: {carry: [request, user], request: request, user: "
                      "user}\ncommand: [x]\nbatch: {rows: 64, micro_rows: 32, segment_splits: 2, "
                      "seed: 3, shuffle: ",
                      shuffle, "}\n");
    }

    // From the frames' carried columns, one at a time. Each null is a separate key.
    static BatchMix slowMix(const std::vector<SeenBatch>& batches, std::int64_t microRows) {
        BatchMix mix;
        for (const SeenBatch& batch : batches) {
            if (static_cast<std::int64_t>(batch.rows.size()) != microRows) {
                continue;
            }
            frame::FrameBuffer aligned(batch.bytes.size());
            std::memcpy(aligned.bytes().data(), batch.bytes.data(), batch.bytes.size());
            const auto view = *frame::FrameView::open(aligned.bytes());
            const auto request = view.values<std::int64_t>(
                static_cast<std::size_t>(view.find(frame::Role::kCarry, "request")));
            std::vector<std::string> requests, users;
            for (std::size_t r = 0; r < batch.rows.size(); ++r) {
                const bool isNull = batch.rows[r].second % 50 == 0;
                const std::string own =
                    strCat("row ", batch.rows[r].first, " ", batch.rows[r].second);
                requests.push_back(isNull ? own : strCat(request[r]));
                users.push_back(isNull ? own : strCat("u", request[r] % 41));
            }
            BatchMix one;
            one.batches = 1;
            one.rows = microRows;
            one.requests = one.fewestRequests = slowCount(requests).different;
            one.userRows = slowCount(users).most;
            one.mostUserShare = static_cast<double>(one.userRows) / static_cast<double>(microRows);
            mix.add(one);
        }
        return mix;
    }

    void expectMeasured(const std::string& shuffle, int threads) {
        const auto input = open(text(shuffle));
        RememberingSink sink;
        StageCounters counters;
        SequencerOptions options;
        options.threads = threads;
        options.epochs = 2;
        const auto sequencer = Sequencer::make(input, options, pool_, counters, sink);
        ASSERT_TRUE(sequencer.ok()) << sequencer.status();
        ASSERT_TRUE((*sequencer)->run({}).ok());
        const BatchMix expected = slowMix(sink.batches(), input->microRows());
        const BatchMix got = counters.mix();
        EXPECT_GT(expected.batches, 50);
        EXPECT_EQ(got.batches, expected.batches) << shuffle;
        EXPECT_EQ(got.rows, expected.rows) << shuffle;
        EXPECT_EQ(got.requests, expected.requests) << shuffle;
        EXPECT_EQ(got.fewestRequests, expected.fewestRequests) << shuffle;
        EXPECT_EQ(got.userRows, expected.userRows) << shuffle;
        EXPECT_EQ(got.mostUserShare, expected.mostUserShare) << shuffle;
    }
};

TEST_F(MixedStream, IsMeasuredAsItIsDelivered) {
    for (const char* shuffle : {"rows", "requests", "none"}) {
        for (const int threads : {1, 3}) {
            expectMeasured(shuffle, threads);
        }
    }
}

TEST_F(MixedStream, WithoutTheColumnsNothingIsCounted) {
    std::string unnamed = text("rows");
    unnamed.erase(unnamed.find(", request: request, user: user"), 30);
    RememberingSink sink;
    ASSERT_TRUE(run(open(unnamed), sink, 2).ok());
    EXPECT_EQ(counters_.mix().batches, 0);
}

TEST_F(MixedStream, TheUserIsNoPartOfTheStreamHash) {
    std::string without = text("rows");
    without.erase(without.find(", user: user"), 12);
    EXPECT_EQ(open(text("rows"))->streamHash(), open(without)->streamHash());
}

}  // namespace
}  // namespace millrace::segment
