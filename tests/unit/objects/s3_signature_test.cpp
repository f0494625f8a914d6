// Signatures compared with others: Amazon's documented example, and botocore's S3SigV4Auth.
#include "backend/objects/s3_signature.h"

#include <gmock/gmock.h>

namespace millrace::objects {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(S3Signature, IsThatOfAmazonsExample) {
    // "Example: GET Object" of the Amazon S3 API Reference, with the signature printed there.
    const GetRequest request{"examplebucket.s3.amazonaws.com", "/test.txt", "bytes=0-9"};
    const Credentials credentials{"AKIAIOSFODNN7EXAMPLE",
                                  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
    EXPECT_THAT(
        signedHeaders(request, credentials, "us-east-1", "20130524T000000Z"),
        ElementsAre("Host: examplebucket.s3.amazonaws.com", "Range: bytes=0-9",
                    "x-amz-content-sha256: "
                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                    "x-amz-date: 20130524T000000Z",
                    "Authorization: AWS4-HMAC-SHA256 "
                    "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                    "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                    "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(S3Signature, CoversASessionTokenAPortAndAnEncodedName) {
    const GetRequest request{"127.0.0.1:9000", encodedPath("/lake/day=1/a b+\xc3\xbc.parquet"),
                             "bytes=5-1004"};
    EXPECT_EQ(request.path, "/lake/day%3D1/a%20b%2B%C3%BC.parquet");
    const auto headers =
        signedHeaders(request, {"AKID", "secret/+", "tok+en=="}, "eu-west-3", "20261122T010203Z");
    EXPECT_THAT(headers, Contains("x-amz-security-token: tok+en=="));
    EXPECT_THAT(headers.back(),
                HasSubstr("Signature="
                          "db8b20e554350d5188c9109a6d1b51bfeb1a6a44198836744b9eab4c9cae5fe4"));
}

TEST(S3Signature, CoversTheVersionAndTheWishForAChecksum) {
    const auto headers =
        signedHeaders({"127.0.0.1:9000", "/lake/a.parquet", "bytes=0-1004", "\"abc-1\"", true},
                      {"AKID", "secret/+", ""}, "eu-west-3", "20261122T010203Z");
    EXPECT_THAT(headers, Contains("If-Match: \"abc-1\""));
    EXPECT_THAT(headers, Contains("x-amz-checksum-mode: ENABLED"));
    EXPECT_THAT(headers.back(),
                HasSubstr("SignedHeaders=host;if-match;range;x-amz-checksum-mode;"
                          "x-amz-content-sha256;x-amz-date,Signature="
                          "73d6ed8a3444efba00c1630cb86d27c2c03ec334992dc9fa14bca98d02996ddd"));
}

TEST(S3Signature, IsLeftOutWithoutAKey) {
    EXPECT_THAT(signedHeaders({"h", "/p", "bytes=0-1"}, {}, "r", "20130524T000000Z"),
                ElementsAre("Host: h", "Range: bytes=0-1"));
}

TEST(S3Signature, EncodesAllButUnreservedBytes) {
    EXPECT_EQ(encodedPath("/aZ09-._~/%?#&=+ \x7f\x80"), "/aZ09-._~/%25%3F%23%26%3D%2B%20%7F%80");
}

}  // namespace
}  // namespace millrace::objects
