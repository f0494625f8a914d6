#include "backend/core/status.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "backend/core/transient.h"

namespace millrace {
namespace {

Result<int> half(int n) {
    if (n % 2 != 0) {
        return invalidArgument("half: ", n, " is odd");
    }
    return n / 2;
}

Result<int> quarter(int n) {
    ASSIGN_OR_RETURN(const int h, half(n));
    return half(h);
}

TEST(Status, AValueIsHandedOn) {
    EXPECT_EQ(quarter(8).value(), 2);
}

TEST(Status, AnErrorIsHandedOnAsItIs) {
    const Result<int> result = quarter(6);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(messageOf(result.status()), "half: 3 is odd");
}

TEST(Status, AnnotateNamesThePlaceAndKeepsTheCode) {
    const Status status = annotate(notFound("no such file"), "ratings.csv");
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(messageOf(status), "ratings.csv: no such file");
    EXPECT_TRUE(annotate(okStatus(), "x").ok());
}

TEST(Status, AFullDiskAndAMissingFileHaveTheirOwnCodes) {
    EXPECT_EQ(errnoStatus(ENOSPC, "a").code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(errnoStatus(ENOENT, "a").code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(errnoStatus(EACCES, "a").code(), absl::StatusCode::kPermissionDenied);
}

TEST(Status, OnlyWhatPassesByItselfIsTransient) {
    EXPECT_TRUE(isTransient(errnoStatus(EMFILE, "a")));
    EXPECT_TRUE(isTransient(annotate(errnoStatus(ENFILE, "a"), "b")));
    EXPECT_TRUE(isTransient(errnoStatus(EIO, "a"))) << "a disk that fails may be back";
    EXPECT_TRUE(isTransient(unavailable("away")));
    EXPECT_FALSE(isTransient(errnoStatus(ENOSPC, "a")));
    EXPECT_FALSE(isTransient(annotate(resourceExhausted("full"), "b")));
    EXPECT_FALSE(isTransient(okStatus()));
    EXPECT_TRUE(mayPass(errnoStatus(ENOSPC, "a"))) << "somebody frees some room";
    EXPECT_FALSE(mayPass(errnoStatus(ENOENT, "a")));
}

TEST(StrCat, TakesStdStringView) {
    const std::string_view view = "two";
    EXPECT_EQ(strCat("one ", view, " ", 3, " ", 4.5), "one two 3 4.5");
}

}  // namespace
}  // namespace millrace
