// Ranges over the network: which are read, which are requested again, and the error of each
// failure.
#include "backend/objects/range_client.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include <gmock/gmock.h>

#include "backend/core/thread.h"
#include "backend/objects/checksum.h"
#include "backend/objects/range_answer.h"
#include "tests/support/range_server.h"
#include "tests/support/temp_dir.h"

namespace millrace::objects {
namespace {

using test::RangeServer;
using ::testing::HasSubstr;

/// A list of keys, used one after the other.
class Keys final : public CredentialsSource {
 public:
    explicit Keys(
        std::function<void()> onAsked = [] {}, std::vector<std::string> keys = {"key"})
        : onAsked_(std::move(onAsked)), keys_(std::move(keys)) {}
    Credentials current() override {
        onAsked_();
        return {keys_[at_], "secret", ""};
    }
    std::optional<Credentials> after(const Credentials& refused, const std::stop_token&) override {
        EXPECT_EQ(refused.accessKey, keys_[at_]);
        if (at_ + 1 == keys_.size()) {
            return std::nullopt;
        }
        ++at_;
        return current();
    }

 private:
    const std::function<void()> onAsked_;
    const std::vector<std::string> keys_;
    std::size_t at_ = 0;
};

class Ranges : public testing::Test {
 protected:
    void SetUp() override {
        std::filesystem::create_directories(directory_.path() + "/lake/day=1");
        for (int i = 0; i < 3'000'000; ++i) {
            bytes_ += static_cast<char>(i * 2'654'435'761U >> 24);
        }
        std::ofstream(directory_.path() + "/lake/day=1/a b+1.bin", std::ios::binary) << bytes_;
    }
    S3Settings settings() const {
        S3Settings settings;
        settings.scheme = "http";
        settings.endpoint = strCat("127.0.0.1:", server_->port());
        settings.region = "us-east-1";
        return settings;
    }
    RangeClient client(int attempts = 3,
                       std::chrono::milliseconds stall = std::chrono::seconds(30)) const {
        S3Settings settings = this->settings();
        settings.stall = stall;
        settings.attempts = attempts;
        return RangeClient(settings, {settings.endpoint, attempts}, std::make_shared<Keys>());
    }
    void fault(const RangeServer::Faults& faults) { server_->setFaults(faults); }

    Result<std::string> read(const RangeClient& client, std::int64_t offset, std::int64_t bytes,
                             const std::string& key = "day=1/a b+1.bin",
                             const std::string& bucket = "lake") const {
        std::string out(static_cast<std::size_t>(bytes) + 1, '!');
        ASSIGN_OR_RETURN(const ObjectBytes read,
                         client.read({bucket, key}, {offset, bytes, ""}, out.data()));
        EXPECT_EQ(out.back(), '!') << "nothing is written behind what was asked for";
        return out.substr(0, static_cast<std::size_t>(read.count));
    }

    /// The result of a read that is no longer needed once `wait` has returned.
    static Status stopped(const RangeClient& client, const std::function<void()>& wait) {
        Status status;
        std::jthread reader = startThread("read", [&](const std::stop_token& stop) {
            char byte = 0;
            status = client.read({"lake", "day=1/a b+1.bin"}, {0, 1, ""}, &byte, stop).status();
        });
        wait();
        reader.request_stop();
        reader.join();
        return status;
    }

    tests::TempDir directory_;
    std::string bytes_;
    std::unique_ptr<RangeServer> server_ = *RangeServer::start(directory_.path());
};

TEST_F(Ranges, AreTheBytesAtTheirPlaceOverOneConnection) {
    const RangeClient client = this->client();
    for (const auto& [offset, bytes] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 1}, {0, 3'000'000}, {1, 2'999'999}, {1'234'567, 700'000}, {2'999'999, 1}}) {
        EXPECT_EQ(*read(client, offset, bytes),
                  bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)));
    }
    EXPECT_EQ(server_->gets(), 5);
    EXPECT_EQ(server_->connections(), 1);
}

TEST_F(Ranges, EndWhereTheObjectEnds) {
    const RangeClient client = this->client();
    EXPECT_EQ(*read(client, 2'999'990, 100), bytes_.substr(2'999'990));
    EXPECT_EQ(*read(client, 3'000'000, 100), "");
}

TEST_F(Ranges, GoOnFromTheByteThatACutAnswerHadComeTo) {
    RangeServer::Faults faults;
    faults.cutEvery = 2;
    fault(faults);
    const RangeClient client = this->client();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(*read(client, 0, 3'000'000), bytes_);
    }
    EXPECT_EQ(server_->gets(), 5) << "the second and the fourth answer were cut";
    EXPECT_EQ(server_->bytesSent(), 9'000'000) << "no byte came twice";
}

TEST_F(Ranges, AreAskedForAgainAfterServerErrors) {
    RangeServer::Faults faults;
    faults.failEvery = 2;
    fault(faults);
    const RangeClient client = this->client();
    EXPECT_EQ(*read(client, 5, 10), bytes_.substr(5, 10));
    EXPECT_EQ(*read(client, 5, 10), bytes_.substr(5, 10));
    EXPECT_EQ(server_->gets(), 3);
}

TEST_F(Ranges, FailAfterAllTriesWithWhatTheServerSaid) {
    RangeServer::Faults faults;
    faults.failEvery = 1;
    fault(faults);
    const Status status = read(client(2), 0, 10).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(messageOf(status),
                HasSubstr("s3://lake/day=1/a b+1.bin: the S3 server 127.0.0.1:"));
    EXPECT_THAT(messageOf(status), HasSubstr("failed (SlowDown, HTTP status 503), 2 tries"));
    EXPECT_EQ(server_->gets(), 2);
}

TEST_F(Ranges, WhatIsNotThereIsNamedAtOnce) {
    const RangeClient client = this->client();
    EXPECT_EQ(read(client, 0, 1, "none").status(),
              notFound("s3://lake/none: no such object at 127.0.0.1:", server_->port()));
    EXPECT_EQ(read(client, 0, 1, "none", "dry").status(),
              notFound("s3://dry/none: no such bucket at 127.0.0.1:", server_->port()));
}

TEST_F(Ranges, DeniedAccessIsNotTriedAgain) {
    RangeServer::Faults faults;
    faults.deniesAll = true;
    fault(faults);
    const Status status = read(client(), 0, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("(AccessDenied, HTTP status 403); check the cred"));
    EXPECT_EQ(server_->connections(), 1);
}

TEST_F(Ranges, AServerThatSendsTheWholeObjectIsRefused) {
    RangeServer::Faults faults;
    faults.ignoresRanges = true;
    fault(faults);
    const RangeClient client = this->client();
    for (const std::int64_t offset : {0, 10, 2'999'995}) {
        EXPECT_THAT(messageOf(read(client, offset, 10).status()),
                    HasSubstr("it does not answer ranges"));
    }
    EXPECT_EQ(*read(client, 0, 3'000'000), bytes_) << "the whole object was asked for";
}

TEST_F(Ranges, AVanishedServerDoesNotAnswer) {
    const RangeClient client = this->client(2);
    ASSERT_TRUE(read(client, 0, 1).ok());
    server_->vanish();
    const Status status = read(client, 0, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("does not answer ("));
    EXPECT_THAT(messageOf(status), HasSubstr("check the network and AWS_ENDPOINT_URL"));
}

TEST_F(Ranges, ATriedAgainRequestIsGivenUpWhenItIsNoLongerNeeded) {
    RangeServer::Faults faults;
    faults.failEvery = 1;
    fault(faults);
    EXPECT_EQ(stopped(client(100), [&] { server_->waitForGets(2); }),  // eight minutes of trying
              cancelled("s3://lake/day=1/a b+1.bin: no longer needed"));
}

TEST_F(Ranges, ASilentAnswerIsGivenUpWhenItIsNoLongerNeeded) {
    RangeServer::Faults faults;
    faults.latency = std::chrono::hours(1);
    fault(faults);
    EXPECT_EQ(stopped(client(), [&] { server_->waitForConnections(1); }),
              cancelled("s3://lake/day=1/a b+1.bin: no longer needed"));
}

TEST_F(Ranges, AnAnswerThatStandsStillIsGivenUpAfterAllTriesHoweverManyBytesCameBefore) {
    RangeServer::Faults faults;
    faults.stallsAfter = 500;
    fault(faults);
    const Status status = read(client(2, std::chrono::milliseconds(200)), 0, 1'000'000).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("s3://lake/day=1/a b+1.bin: the S3 server"));
    EXPECT_THAT(messageOf(status), HasSubstr("does not answer (less than 1024 bytes/s for 0.2 s: "
                                             "MILLRACE_OBJECTS_STALL_SECONDS), 2 tries"));
    EXPECT_EQ(server_->gets(), 2);
}

TEST_F(Ranges, AnAnswerThatStandsStillOnceIsAskedForAgainFromWhereItStood) {
    RangeServer::Faults faults;
    faults.stallsAfter = 900'000;
    fault(faults);
    // The clock advances only when the server has sent all that it will send and the client, which
    // looks once a second while it waits, found nothing: a slow machine does not cause a stall.
    std::int64_t requests = 0, looks = 0;
    auto lastLook = std::chrono::steady_clock::now();
    const auto now = [&] {
        const auto before = std::exchange(lastLook, std::chrono::steady_clock::now());
        const bool isIdle = lastLook - before > std::chrono::milliseconds(500);
        looks += isIdle && server_->stoodStill() == requests ? 1 : 0;
        return StallWatch::Time(std::chrono::milliseconds(150 * looks));
    };
    const auto keys = std::make_shared<Keys>([&requests] { ++requests; });  // before each
    S3Settings settings = this->settings();
    settings.attempts = 2;
    settings.stall = std::chrono::milliseconds(200);
    const RangeClient client(settings, {settings.endpoint, 2}, keys, now);
    const Result<std::string> all = read(client, 0, 3'000'000);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(*all, bytes_);
    EXPECT_EQ(server_->gets(), 4);
}

TEST_F(Ranges, CredentialsThatExpiredAreAskedForAnewOnce) {
    RangeServer::Faults faults;
    faults.onlyKey = "renewed";
    fault(faults);
    const auto readWith = [this](const std::shared_ptr<Keys>& keys) {
        return read(RangeClient(settings(), {settings().endpoint, 3}, keys), 5, 7);
    };
    using Names = std::vector<std::string>;
    const auto renewed = std::make_shared<Keys>([] {}, Names{"expired", "renewed", "unused"});
    const Result<std::string> bytes = readWith(renewed);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, bytes_.substr(5, 7));
    EXPECT_EQ(renewed->current().accessKey, "renewed");
    const auto stale = std::make_shared<Keys>([] {}, Names{"expired", "expired too", "renewed"});
    const Status status = readWith(stale).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("denies access (ExpiredToken, HTTP status 400)"));
    EXPECT_EQ(stale->current().accessKey, "expired too");
}

TEST(StallWatch, CountsARateNotSingleBytes) {
    using std::chrono::seconds;
    const StallWatch::Time start{};
    StallWatch drip(seconds(30), start);
    for (int second = 1; second < 30; ++second) {
        EXPECT_FALSE(drip.isStalled(second * 1000, start + seconds(second))) << second;
    }
    EXPECT_TRUE(drip.isStalled(30'000, start + seconds(30))) << "30,720 bytes were due";
    StallWatch slow(seconds(30), start);
    for (int second = 1; second < 300; ++second) {
        EXPECT_FALSE(slow.isStalled(second * 1100, start + seconds(second))) << second;
    }
}

TEST_F(Ranges, AnAnswerOfAnotherRangeIsRefused) {
    RangeServer::Faults faults;
    faults.shiftsRangesBy = 8;
    fault(faults);
    const Status status = read(client(), 100, 50).status();
    EXPECT_THAT(messageOf(status), HasSubstr("s3://lake/day=1/a b+1.bin: "));
    EXPECT_THAT(messageOf(status),
                HasSubstr("it sends the bytes 108 to 157 where 100 to 149 were asked for"));
    EXPECT_EQ(server_->gets(), 1);
}

TEST_F(Ranges, AnObjectThatWasReplacedIsToldByItsEtag) {
    const RangeClient client = this->client();
    const RangeClient::Object object{"lake", "day=1/a b+1.bin"};
    char bytes[10];
    const auto first = client.read(object, {0, 10, ""}, bytes);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_FALSE(first->etag.empty());
    EXPECT_TRUE(client.read(object, {5, 10, first->etag}, bytes).ok());
    EXPECT_EQ(server_->lastIfMatch(), first->etag);
    std::ofstream(directory_.path() + "/lake/day=1/a b+1.bin", std::ios::binary)
        << std::string(bytes_.size(), 'x');
    for (const bool ignoresIfMatch : {false, true}) {
        RangeServer::Faults faults;
        faults.ignoresIfMatch = ignoresIfMatch;
        fault(faults);
        const Status status = client.read(object, {5, 10, first->etag}, bytes).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
        EXPECT_THAT(messageOf(status),
                    HasSubstr("s3://lake/day=1/a b+1.bin: changed since the run was planned: its "
                              "ETag at 127.0.0.1:"));
        EXPECT_THAT(messageOf(status), HasSubstr(first->etag));
    }
}

TEST_F(Ranges, AWholeObjectIsComparedWithTheChecksumThatTheStoreKeeps) {
    for (const char* algorithm : {"crc32", "crc32c", "crc64nvme", "sha1", "sha256"}) {
        RangeServer::Faults faults;
        faults.headers = strCat("x-amz-checksum-", algorithm, ": ", checksumOf(algorithm, bytes_),
                                "\r\nx-amz-checksum-type: FULL_OBJECT\r\n");
        fault(faults);
        EXPECT_EQ(*read(client(2), 0, 3'000'000), bytes_) << algorithm;
        faults.headers =
            strCat("x-amz-checksum-", algorithm, ": ", checksumOf(algorithm, "other"), "\r\n");
        fault(faults);
        const Status status = read(client(2), 0, 3'000'000).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_THAT(messageOf(status), HasSubstr("s3://lake/day=1/a b+1.bin: "));
        EXPECT_THAT(messageOf(status), HasSubstr(algorithm));
        EXPECT_TRUE(read(client(2), 0, 2'999'999).ok()) << "a part has none of its own";
    }
    RangeServer::Faults faults;
    faults.headers = "x-amz-checksum-crc32: AAAAAA==-3\r\n";
    fault(faults);
    EXPECT_TRUE(read(client(2), 0, 3'000'000).ok()) << "of parts: not of the bytes";
}

TEST(Checksums, AreThoseOfTheirStandards) {
    // The check values of the CRC catalogue and of FIPS 180, for the text "123456789".
    EXPECT_EQ(checksumOf("crc32", "123456789"), "y/Q5Jg==");
    EXPECT_EQ(checksumOf("crc32c", "123456789"), "4waSgw==");
    EXPECT_EQ(checksumOf("crc64nvme", "123456789"), "rosUhgp5mIg=");
    EXPECT_EQ(checksumOf("sha1", "123456789"), "98O8HYCOBHMq32eZZczDTKeuNEE=");
    EXPECT_EQ(checksumOf("sha256", "123456789"), "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=");
    EXPECT_EQ(checksumOf("md5", "123456789"), "");
}

}  // namespace
}  // namespace millrace::objects
