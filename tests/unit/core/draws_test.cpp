#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "backend/core/clock.h"
#include "backend/core/hash.h"
#include "backend/core/ids.h"
#include "backend/core/philox.h"

namespace millrace {
namespace {

// Random123's kat_vectors: philox4x32 10 rounds.
TEST(Philox, AgreesWithThePublishedVectors) {
    // counter 00000000 x4, key 00000000 x2 -> 6627e8d5 e169c58d bc57ac4c 9b00dbd8
    EXPECT_EQ(philox64(0, 0, 0), 0xe169c58d6627e8d5ULL);
    // counter ffffffff x4, key ffffffff x2 -> 408f276d 41c83b0e a20bc7c6 6d5451fd
    const std::uint64_t ones = ~std::uint64_t{0};
    EXPECT_EQ(philox64(ones, ones, ones), 0x41c83b0e408f276dULL);
    // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0 -> d16cfe09 94fdcceb ...
    EXPECT_EQ(philox64(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL),
              0x94fdccebd16cfe09ULL);
}

TEST(Philox, AUnitIntervalNeverReachesOne) {
    EXPECT_EQ(unitInterval(0), 0.0);
    EXPECT_LT(unitInterval(~std::uint64_t{0}), 1.0);
}

TEST(CanonicalBytes, EqualValuesHaveEqualBytes) {
    EXPECT_EQ(CanonicalBytes().real(-0.0).bytes(), CanonicalBytes().real(0.0).bytes());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(CanonicalBytes().real(nan).bytes(), CanonicalBytes().real(-nan).bytes());
    EXPECT_NE(CanonicalBytes().integer(1).bytes(), CanonicalBytes().real(1).bytes());
    EXPECT_NE(CanonicalBytes().null().bytes(), CanonicalBytes().integer(0).bytes());
}

TEST(CanonicalBytes, StringsCannotRunIntoEachOther) {
    EXPECT_NE(CanonicalBytes().text("ab").text("c").bytes(),
              CanonicalBytes().text("a").text("bc").bytes());
}

TEST(CanonicalBytes, Hash01IsEvenAndFixed) {
    int below = 0;
    for (int i = 0; i < 10000; ++i) {
        below += hash01(CanonicalBytes().integer(i).integer(i * 7)) < 0.8 ? 1 : 0;
    }
    EXPECT_NEAR(below, 8000, 130);
    EXPECT_EQ(hash01(CanonicalBytes().integer(1).integer(2)),
              hash01(CanonicalBytes().integer(1).integer(2)));
}

TEST(DrawKey, PurposeSaltAndEpochSeparateDraws) {
    std::set<std::uint64_t> counters;
    counters.insert(DrawKey(DrawPurpose::kDraw, "sample").noEpoch().counter());
    counters.insert(DrawKey(DrawPurpose::kRow, "sample").noEpoch().counter());
    counters.insert(DrawKey(DrawPurpose::kDraw, "other").noEpoch().counter());
    counters.insert(DrawKey(DrawPurpose::kDraw, "sample").epoch(0).counter());
    counters.insert(DrawKey(DrawPurpose::kDraw, "sample").epoch(1).counter());
    EXPECT_EQ(counters.size(), 5U);
}

TEST(Sum128, CarriesOver) {
    Sum128 a{~std::uint64_t{0}, 1};
    a += Sum128{1, 0};
    EXPECT_EQ(a, (Sum128{0, 2}));
    EXPECT_EQ(a.hex(), "00000000000000020000000000000000");
}

TEST(Hash, IsThePublishedXxh3) {
    // XXH3-128 of the empty input with seed 0 (xxHash's own sanity vector).
    EXPECT_EQ(hashHex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Ids, UidsSortByTimeAndDiffer) {
    const std::string a = newUid(1'700'000'000'000), b = newUid(1'700'000'000'001);
    EXPECT_EQ(a.size(), 32U);
    EXPECT_LT(a.substr(0, 12), b.substr(0, 12));
    EXPECT_EQ(a[12], '7');
    EXPECT_NE(newUid(5), newUid(5));
}

TEST(Ids, UidsOfOneMomentSortByTheirOrdinal) {
    std::string last = newUid(4'999);
    for (int ordinal = 0; ordinal < 10'000; ++ordinal) {
        const std::string uid = newUid(5'000, ordinal);
        ASSERT_LT(last, uid) << ordinal;
        ASSERT_EQ(uid.size(), 32U);
        ASSERT_EQ(uid[12], '7');
        last = uid;
    }
    EXPECT_NE(newUid(5'000, 7), newUid(5'000, 7));
}

TEST(Ids, RunIdsAreShortAndReadable) {
    const std::string id = newRunId();
    EXPECT_EQ(id.size(), 7U);
    EXPECT_EQ(id.substr(0, 2), "r-");
    EXPECT_EQ(id.find_first_of("01lo", 2), std::string::npos);
}

TEST(Clock, TimesAreWrittenAndReadBack) {
    EXPECT_EQ(formatTime(1'772'368'496'789), "2026-03-01T12:34:56.789Z");
    EXPECT_EQ(parseTime("2026-03-01T12:34:56.789Z").value(), 1'772'368'496'789);
    EXPECT_EQ(parseTime("2026-03-01T12:34:56Z").value(), 1'772'368'496'000);
    EXPECT_FALSE(parseTime("yesterday").ok());
    EXPECT_FALSE(parseTime("2026-02-30T00:00:00Z").ok());
    EXPECT_FALSE(parseTime("2026-03-01T25:00:00Z").ok());
    EXPECT_EQ(formatTime(-1), "1969-12-31T23:59:59.999Z");
}

TEST(Clock, DurationsReadWell) {
    EXPECT_EQ(formatDuration(4.24), "4.2 s");
    EXPECT_EQ(formatDuration(192), "3 m 12 s");
    EXPECT_EQ(formatDuration(7500), "2 h 05 m");
    EXPECT_EQ(formatDuration(59.96), "1 m 00 s");
    EXPECT_EQ(formatDuration(76 * 3600), "3 d 04 h");
    EXPECT_EQ(formatDuration(-1), "n/a");
}

}  // namespace
}  // namespace millrace
