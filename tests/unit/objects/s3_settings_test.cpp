// Settings from the environment and ~/.aws/config, and their precedence.
#include "backend/objects/s3_settings.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::objects {
namespace {

class Settings : public testing::Test {
 protected:
    void SetUp() override {
        for (const char* name :
             {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION",
              "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_MAX_ATTEMPTS", "AWS_CA_BUNDLE",
              "SSL_CERT_FILE", "AWS_RESPONSE_CHECKSUM_VALIDATION", kStallVariable}) {
            ::unsetenv(name);
        }
        ::setenv("AWS_CONFIG_FILE", config_.c_str(), 1);
        std::ofstream(config_) << "[default]\nregion = eu-north-1\n"
                                  "[profile lab]\nregion=ap-east-1\n"
                                  "endpoint_url = http://lab:9000/\n";
    }
    tests::TempDir directory_;
    const std::string config_ = directory_ / "config";
};

TEST_F(Settings, WithoutAnythingItIsAmazonInTheProfilesRegion) {
    const S3Settings settings = *s3SettingsFromEnvironment();
    EXPECT_EQ(settings.scheme, "https");
    EXPECT_EQ(settings.endpoint, "");
    EXPECT_EQ(settings.region, "eu-north-1");
    EXPECT_EQ(settings.attempts, 8);
}

TEST_F(Settings, AProfileNamesEndpointAndRegion) {
    ::setenv("AWS_PROFILE", "lab", 1);
    const S3Settings settings = *s3SettingsFromEnvironment();
    EXPECT_EQ(settings.scheme, "http");
    EXPECT_EQ(settings.endpoint, "lab:9000");
    EXPECT_EQ(settings.region, "ap-east-1");
}

TEST_F(Settings, TheEnvironmentWinsAndTheNarrowerNameFirst) {
    ::setenv("AWS_PROFILE", "lab", 1);
    ::setenv("AWS_ENDPOINT_URL", "http://all:1", 1);
    ::setenv("AWS_ENDPOINT_URL_S3", "https://s3:2", 1);
    ::setenv("AWS_REGION", "us-west-2", 1);
    ::setenv("AWS_CA_BUNDLE", "/ca.pem", 1);
    ::setenv("AWS_MAX_ATTEMPTS", "3", 1);
    const S3Settings settings = *s3SettingsFromEnvironment();
    EXPECT_EQ(settings.scheme, "https");
    EXPECT_EQ(settings.endpoint, "s3:2");
    EXPECT_EQ(settings.region, "us-west-2");
    EXPECT_EQ(settings.certificates, "/ca.pem");
    EXPECT_EQ(settings.attempts, 3);
}

TEST_F(Settings, AnEndpointWithoutARegionHasTheUsualOne) {
    ::setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    ::setenv("AWS_ENDPOINT_URL", "http://here:1", 1);
    EXPECT_EQ(s3SettingsFromEnvironment()->region, "us-east-1");
}

TEST_F(Settings, AReadMayStandStillForThirtySecondsOrAsLongAsIsSaid) {
    EXPECT_EQ(s3SettingsFromEnvironment()->stall.count(), 30'000);
    ::setenv(kStallVariable, "2.5", 1);
    EXPECT_EQ(s3SettingsFromEnvironment()->stall.count(), 2500);
    for (const char* wrong : {"0", "-1", "soon", "1e9", "5s"}) {
        ::setenv(kStallVariable, wrong, 1);
        const Status status = s3SettingsFromEnvironment().status();
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
        EXPECT_EQ(messageOf(status), strCat("MILLRACE_OBJECTS_STALL_SECONDS='", wrong,
                                            "': give a number of seconds up "
                                            "to 3600, as in MILLRACE_OBJECTS_STALL_SECONDS=30"));
    }
}

TEST_F(Settings, ChecksumsAreLeftOutWhereOtherToolsLeaveThemOut) {
    EXPECT_TRUE(s3SettingsFromEnvironment()->wantsChecksums);
    ::setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required", 1);
    EXPECT_FALSE(s3SettingsFromEnvironment()->wantsChecksums);
}

TEST(BackOff, DoublesUpToALimit) {
    EXPECT_EQ(backOff(0).count(), 200);
    EXPECT_EQ(backOff(1).count(), 400);
    EXPECT_EQ(backOff(4).count(), 3200);
    EXPECT_EQ(backOff(5).count(), 5000);
    EXPECT_EQ(backOff(1'000'000'000'000).count(), 5000);
}

}  // namespace
}  // namespace millrace::objects
