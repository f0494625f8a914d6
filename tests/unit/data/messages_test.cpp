#include "daemon/worker/data/messages.h"

#include <gtest/gtest.h>

namespace millrace::data {
namespace {

segment::SegmentDone sample() {
    segment::SegmentDone done;
    done.order.name = {2, 77};
    done.order.generation = 5;
    segment::SegmentReport& facts = done.facts;
    facts.counts.rowsScanned = 1000;
    facts.counts.rowsPruned = 100;
    facts.counts.rowsKept = 70;
    facts.counts.steps.push_back({900, 70, {830, 0, 0, 0}});
    facts.counts.vocabularies.push_back({70, 3});
    facts.counts.labels.push_back({5, 8});
    facts.frames.resize(2);
    facts.frames[1] = {4096, 2048, {11, 12}, 7, 9};
    facts.tailRows = 6;
    facts.tail = {512, 500, {1, 2}, 3, 4};
    facts.tailRequestKeys = {1, 2, 3, 4, 5, ~0ULL};
    return done;
}

TEST(Messages, FactsComeAsTheyWereSent) {
    const segment::SegmentDone sent = sample();
    v1::SegmentDone message;
    toMessage(sent, message);
    EXPECT_TRUE(orderOf(message.name()).isSame(sent.order));
    EXPECT_TRUE(statusOf(message).ok());
    const auto facts = factsOf(message.facts());
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->counts.rowsScanned, 1000);
    EXPECT_EQ(facts->counts.rowsPruned, 100);
    EXPECT_EQ(facts->counts.rowsKept, 70);
    ASSERT_EQ(facts->counts.steps.size(), 1U);
    EXPECT_EQ(facts->counts.steps[0].rowsIn, 900);
    EXPECT_EQ(facts->counts.steps[0].reasons, sent.facts.counts.steps[0].reasons);
    ASSERT_EQ(facts->counts.vocabularies.size(), 1U);
    EXPECT_EQ(facts->counts.vocabularies[0].unknown, 3);
    ASSERT_EQ(facts->counts.labels.size(), 1U);
    EXPECT_EQ(facts->counts.labels[0].nulls, 5);
    EXPECT_EQ(facts->counts.labels[0].nans, 8);
    ASSERT_EQ(facts->frames.size(), 2U);
    EXPECT_EQ(facts->frames[1].bytes, 4096U);
    EXPECT_EQ(facts->frames[1].codedBytes, 2048U);
    EXPECT_EQ(facts->frames[1].rowIds, (Sum128{11, 12}));
    EXPECT_EQ(facts->frames[1].requests, 7);
    EXPECT_EQ(facts->frames[1].userRows, 9);
    EXPECT_EQ(facts->tailRows, 6);
    EXPECT_EQ(facts->tail.codedBytes, 500U);
    EXPECT_EQ(facts->tailRequestKeys, sent.facts.tailRequestKeys);
    EXPECT_TRUE(facts->tailUserKeys.empty());
}

TEST(Messages, AnErrorComesInPlaceOfFacts) {
    segment::SegmentDone sent = sample();
    sent.status = dataLoss("part-3.parquet: row group 7: damaged");
    v1::SegmentDone message;
    toMessage(sent, message);
    EXPECT_FALSE(message.has_facts());
    EXPECT_EQ(statusOf(message), sent.status);
}

TEST(Messages, OrdersComeAsTheyWereSent) {
    stream::SegmentOrder sent = sample().order;
    sent.lastRows = 12;
    sent.decodedBytes = std::int64_t{1} << 40;
    sent.files = {0, 7, 4'000'000};
    v1::SegmentOrder message;
    toMessage(sent, message);
    const stream::SegmentOrder order = orderOf(message);
    EXPECT_TRUE(order.isSame(sent));
    EXPECT_EQ(order.lastRows, 12);
    EXPECT_EQ(order.decodedBytes, sent.decodedBytes);
    EXPECT_EQ(order.files, sent.files);
}

TEST(Messages, CountsThatNoSenderMakesAreRefused) {
    v1::SegmentReport message;
    message.set_rows_scanned(~0ULL);
    EXPECT_EQ(factsOf(message).status().code(), absl::StatusCode::kDataLoss);
    message.set_rows_scanned(1);
    message.add_steps()->add_reasons(1);
    EXPECT_EQ(factsOf(message).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace millrace::data
