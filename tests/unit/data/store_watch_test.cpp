// A store's credentials that a feed hands to its data workers: it notices changes, and looks again
// when they are refused.
#include "daemon/worker/data/store_watch.h"

#include <atomic>

#include <gmock/gmock.h>

#include "daemon/worker/data/store_messages.h"
#include "tests/support/poll.h"

namespace millrace::data {
namespace {

class Watch : public testing::Test {
 protected:
    std::unique_ptr<StoreWatch> watch(std::chrono::milliseconds lookTime) {
        return std::make_unique<StoreWatch>(
            [this](const std::string& refusedKey) {
                MutexLock lock(mutex_);
                key_ = !refusedKey.empty() && refusedKey == key_ ? next_ : key_;
                return objects::StoreAccess{"https", "", "eu-north-1", true, {key_, "s", ""}};
            },
            [this](bool isNew) { (isNew ? numNew_ : numSame_) += 1; }, lookTime);
    }
    void set(const std::string& key, const std::string& next) {
        MutexLock lock(mutex_);
        key_ = key;
        next_ = next;
    }
    Mutex mutex_;
    std::string key_ MR_GUARDED_BY(mutex_) = "first", next_ MR_GUARDED_BY(mutex_) = "second";
    std::atomic<int> numNew_{0}, numSame_{0};
};

TEST_F(Watch, WhatIsRenewedIsToldWithoutARefusal) {
    const auto watch = this->watch(std::chrono::milliseconds(1));
    EXPECT_EQ(watch->access().credentials.accessKey, "first");
    set("renewed", "");
    EXPECT_TRUE(test::eventually([&] { return numNew_ == 1; }));
    EXPECT_EQ(watch->access().credentials.accessKey, "renewed");
    EXPECT_EQ(numSame_, 0);
}

TEST_F(Watch, ARefusalIsAnsweredAtOnceAlsoWhenThereAreNoOthers) {
    const auto watch = this->watch(std::chrono::hours(1));
    watch->refused("first");
    EXPECT_TRUE(test::eventually([&] { return numNew_ == 1; }));
    EXPECT_EQ(watch->access().credentials.accessKey, "second");
    watch->refused("first");
    EXPECT_TRUE(test::eventually([&] { return numSame_ == 1; })) << "renewed already";
    watch->refused("second");
    EXPECT_TRUE(test::eventually([&] { return numSame_ == 2; })) << "there are no others";
}

TEST(StoreMessages, AreTheSameThereAndBack) {
    const objects::StoreAccess access{
        "http", "store.example", "eu-north-1", false, {"key", "secret", "token"}};
    v1::StoreAccess message;
    toMessage(access, message);
    EXPECT_EQ(accessOf(message), access);
}

TEST(ObjectsOfAStream, AreFilesEvaluationOrSideTables) {
    stream::Plan plan;
    plan.files.push_back({.path = "/data/a.csv"});
    plan.sideTables.push_back({"/data/b.csv", 1, ""});
    EXPECT_FALSE(readsObjects(plan));
    plan.sideTables.push_back({"s3://lake/b.csv", 1, ""});
    EXPECT_TRUE(readsObjects(plan));
    plan.sideTables.clear();
    plan.evalFiles.push_back({.path = "s3://lake/c.csv"});
    EXPECT_TRUE(readsObjects(plan));
    std::swap(plan.files, plan.evalFiles);
    EXPECT_TRUE(readsObjects(plan));
}

}  // namespace
}  // namespace millrace::data
