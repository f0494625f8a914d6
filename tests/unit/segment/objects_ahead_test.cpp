// A data worker's objects: it fetches the objects of its own orders before their turn, and no
// others.
#include <filesystem>

#include "backend/segment/sequence/segment_server.h"
#include "tests/support/poll.h"
#include "tests/support/range_server.h"
#include "tests/support/s3_environment.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

class ObjectsAheadTest : public StreamTest {
 protected:
    void SetUp() override {
        writeCsv();
        const std::filesystem::path root = directory_.path();
        std::filesystem::create_directory(root / "lake");
        for (int f = 0; f < kFiles; ++f) {
            const std::string name = strCat("part-", f, ".csv");
            std::filesystem::rename(root / name, root / "lake" / name);
        }
        server_ = *test::RangeServer::start(root);
        test::useS3Server(server_->endpoint(), 3);
        std::string text = specText(batchText());
        text.replace(text.find(directory_.path()), directory_.path().size(), "s3://lake");
        input_ = open(text);
        // A file is compared with the plan at its first use; this read does that.
        for (std::uint32_t file = 0; file < kFiles; ++file) {
            ASSERT_TRUE(input_->dataset()->facts(file).ok());
            ASSERT_TRUE(input_->dataset()->checkedFile(file).ok());
        }
    }
    std::unique_ptr<SegmentServer> serve(const SegmentServerOptions& options) {
        return std::make_unique<SegmentServer>(input_, options, pool_, counters_, nullptr,
                                               [this](const SegmentDone& done) {
                                                   EXPECT_TRUE(done.status.ok()) << done.status;
                                                   MutexLock lock(mutex_);
                                                   ++numDone_;
                                               });
    }
    stream::SegmentOrder orderOf(std::int64_t segment) const {
        stream::SegmentOrder order;
        order.name = {0, segment};
        order.decodedBytes = input_->decodedBytes(0, segment);
        return order;
    }
    void awaitDone(int count) {
        EXPECT_TRUE(test::eventually([&] {
            MutexLock lock(mutex_);
            return numDone_ == count;
        }));
    }

    std::unique_ptr<test::RangeServer> server_;
    std::shared_ptr<const StreamInput> input_;
    Mutex mutex_;
    int numDone_ MR_GUARDED_BY(mutex_) = 0;
};

// One segment is held and leaves no room, so the others wait: objects that are read meanwhile are
// read ahead.
TEST_F(ObjectsAheadTest, OrdersThatWaitAreFetchedAndWhatIsWithdrawnGivesItsBytesBack) {
    SegmentServerOptions options;
    options.heldBytesMax = 1;
    const auto server = serve(options);
    server->order(orderOf(0));
    awaitDone(1);
    const std::int64_t bytes = pool_.bytes_allocated(), gets = server_->gets();
    const std::vector<std::int64_t> segments = {1, 4, 5, 9, 13, 20};
    for (const std::int64_t segment : segments) {
        server->order(orderOf(segment));
        server->order(orderOf(segment));
    }
    EXPECT_TRUE(test::eventually([&] { return server_->gets() == gets + 6; })) << "a split each";
    EXPECT_TRUE(test::eventually([&] { return pool_.bytes_allocated() > bytes; }));
    for (const std::int64_t segment : segments) {
        server->withdraw(orderOf(segment));
    }
    EXPECT_TRUE(test::eventually([&] { return pool_.bytes_allocated() <= bytes; }));
    server->order(orderOf(5));
    EXPECT_TRUE(test::eventually([&] { return server_->gets() == gets + 7; })) << "wanted again";
    server->withdraw(orderOf(0));
    awaitDone(2);
    EXPECT_LE(server_->gets(), gets + 8) << "no other segment; a file's first line, perhaps";
}

}  // namespace
}  // namespace millrace::segment
