// Credentials that are renewed while a process reads: its own, and those that a feed hands to it.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "backend/core/thread.h"
#include "backend/objects/handed_credentials.h"
#include "backend/objects/object_store.h"
#include "tests/support/poll.h"
#include "tests/support/range_server.h"
#include "tests/support/s3_environment.h"
#include "tests/support/temp_dir.h"

namespace millrace::objects {
namespace {

using test::RangeServer;

/// The credentials of the process itself.
class Own final : public CredentialsSource {
 public:
    Credentials current() override { return {"own", "secret", ""}; }
    std::optional<Credentials> after(const Credentials&, const std::stop_token&) override {
        return std::nullopt;
    }
};

class Handed : public testing::Test {
 protected:
    /// The credentials that a reader gets after `refused` were refused and `meanwhile` has run.
    template <class Meanwhile>
    std::optional<Credentials> after(const Credentials& refused, Meanwhile meanwhile) {
        std::optional<Credentials> others;
        std::jthread reader = startThread(
            "reader", [&](const std::stop_token& stop) { others = handed_.after(refused, stop); });
        EXPECT_TRUE(test::eventually([&] { return handed_.question().has_value(); }));
        EXPECT_EQ(handed_.question(), refused.accessKey);
        meanwhile(reader);
        reader.join();
        EXPECT_EQ(handed_.question(), std::nullopt);
        return others;
    }
    const Credentials first_{"first", "a", ""}, second_{"second", "b", "token"};
    HandedCredentials handed_{std::make_shared<Own>(), std::chrono::minutes(10)};
};

TEST_F(Handed, AReaderThatWasRefusedWaitsForTheAnswer) {
    handed_.hand(first_);
    EXPECT_EQ(handed_.current(), first_);
    EXPECT_EQ(after(first_, [this](std::jthread&) { handed_.hand(second_); }), second_);
    EXPECT_EQ(handed_.after(first_, {}), second_) << "known by now";
    EXPECT_EQ(after(second_, [this](std::jthread&) { handed_.hand(second_); }), std::nullopt)
        << "there are no others";
    EXPECT_EQ(after(second_, [](std::jthread& reader) { reader.request_stop(); }), std::nullopt);
}

TEST_F(Handed, NobodyAnswersForEver) {
    HandedCredentials handed(std::make_shared<Own>(), std::chrono::milliseconds(20));
    handed.hand(first_);
    EXPECT_EQ(handed.after(first_, {}), std::nullopt);
}

TEST_F(Handed, WhereNoneAreHandedTheProcesssOwnCount) {
    handed_.hand({});
    EXPECT_EQ(handed_.current().accessKey, "own");
    EXPECT_EQ(handed_.after({"own", "secret", ""}, {}), std::nullopt);
    EXPECT_EQ(handed_.question(), std::nullopt);
}

// The SDK keeps credentials from the file for five minutes.
TEST(ProfileOfAProcess, IsReadAgainWhenTheStoreRefusesItsKey) {
    const tests::TempDir directory;
    std::filesystem::create_directories(directory.path() + "/files/lake");
    std::ofstream(directory / "files/lake/a.bin") << "hello";
    const auto server = *RangeServer::start(directory / "files");
    const std::string file = directory / "credentials";
    const auto keep = [&](const std::string& key) {
        std::ofstream(file) << "[default]\naws_access_key_id = " << key
                            << "\naws_secret_access_key = secret\n";
        RangeServer::Faults faults;
        faults.onlyKey = key;
        server->setFaults(faults);
    };
    test::useS3Server(server->endpoint(), 2);
    ::unsetenv("AWS_ACCESS_KEY_ID");
    ::unsetenv("AWS_SECRET_ACCESS_KEY");
    ::setenv("AWS_SHARED_CREDENTIALS_FILE", file.c_str(), 1);
    keep("first");
    const auto store = ObjectStore::open();
    ASSERT_TRUE(store.ok()) << store.status();
    const auto expectHello = [&] {
        char bytes[5] = {};
        const auto read = (*store)->read("s3://lake/a.bin", {0, 5, ""}, bytes);
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(std::string_view(bytes, 5), "hello");
    };
    expectHello();
    keep("second");
    expectHello();
    EXPECT_EQ((*store)->access().credentials.accessKey, "second");
    EXPECT_EQ((*store)->access().region, "us-east-1");
    keep("third");
    EXPECT_EQ((*store)->accessAfter("second").credentials.accessKey, "third");
    EXPECT_EQ((*store)->accessAfter("second").credentials.accessKey, "third");
    EXPECT_EQ((*store)->list("s3://lake/")->size(), 1U);
    EXPECT_EQ((*store)->stat("s3://lake/a.bin")->bytes, 5);
    EXPECT_FALSE(ObjectStore::openHanded((*store)->access()).ok()) << "it has a store of its own";
}

}  // namespace
}  // namespace millrace::objects
