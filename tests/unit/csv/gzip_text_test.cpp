#include "backend/csv/gzip_text.h"

#include <fstream>
#include <random>
#include <string>

#include <zlib.h>

#include <gmock/gmock.h>

#include "tests/unit/dataset/data_files.h"

namespace millrace::csv {
namespace {

using ::testing::HasSubstr;

std::string packed(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<unsigned>(text.size());
    stream.next_out = reinterpret_cast<unsigned char*>(out.data());
    stream.avail_out = static_cast<unsigned>(out.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

std::string someText(std::size_t bytes) {
    std::mt19937_64 bits(7);
    std::string text;
    while (text.size() < bytes) {
        text += std::to_string(bits() % 100'000) + (bits() % 8 == 0 ? '\n' : ',');
    }
    return text;
}

class GzipTextTest : public ::testing::Test {
 protected:
    GzipText openText(std::shared_ptr<GzipPoints> points) const {
        const auto file = files::FileSource::open(*files::statFile(path_, path_));
        return {path_, *file, 4096, std::move(points)};
    }
    void write(const std::string& bytes) { path_ = dir_.text("a.csv.gz", bytes); }
    static std::string piece(GzipText& text, std::int64_t offset, std::int64_t bytes) {
        std::string out(static_cast<std::size_t>(bytes), '\0');
        const auto read = text.readSome(offset, bytes, out.data());
        EXPECT_TRUE(read.ok()) << read.status();
        out.resize(read.ok() ? static_cast<std::size_t>(*read) : 0);
        return out;
    }

    test::DataDirectory dir_;
    std::string path_;
};

TEST_F(GzipTextTest, PiecesInAnyOrderAreThoseOfTheText) {
    const std::string text = someText(3 << 20);
    // Two members, as in `cat a.gz b.gz`.
    write(packed(text.substr(0, 2 << 20)) + packed(text.substr(2 << 20)));
    for (const bool hasPoints : {true, false}) {
        const auto points = hasPoints ? std::make_shared<GzipPoints>() : nullptr;
        GzipText one = openText(points), two = openText(points);
        std::mt19937_64 bits(3);
        for (int i = 0; i < 60; ++i) {
            const std::size_t offset = bits() % (text.size() + 100), bytes = bits() % 200'000;
            EXPECT_EQ(piece(i % 3 == 0 ? two : one, static_cast<std::int64_t>(offset),
                            static_cast<std::int64_t>(bytes)),
                      offset < text.size() ? text.substr(offset, bytes) : "")
                << offset;
        }
        EXPECT_EQ(hasPoints ? points->count() > 5 : points == nullptr, true);
    }
}

TEST_F(GzipTextTest, ZerosBehindAMemberArePassed) {
    const std::string text = someText(100'000), zeros(10'000, '\0');
    for (const std::string& between : {std::string(), zeros}) {
        write(packed(text.substr(0, 50'000)) + between + packed(text.substr(50'000)) + zeros);
        GzipText one = openText(nullptr);
        EXPECT_EQ(piece(one, 0, 200'000), text);
    }
}

TEST_F(GzipTextTest, APieceThatWasPassedIsNotInflatedFromTheStart) {
    const std::string text = someText(3 << 20);
    const std::string bytes = packed(text);
    write(bytes);
    const auto points = std::make_shared<GzipPoints>();
    GzipText first = openText(points);
    EXPECT_EQ(piece(first, 0, 3 << 20).size(), std::size_t{3} << 20);
    // A reader that begins at the start of the file now finds zeros.
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
        .write(std::string(4096, '\0').data(), 4096);
    GzipText other = openText(points), without = openText(nullptr);
    EXPECT_EQ(piece(other, 2 << 20, 1000), text.substr(2 << 20, 1000));
    EXPECT_EQ(piece(first, 1 << 20, 1000), text.substr(1 << 20, 1000));
    std::string out(1000, '\0');
    EXPECT_THAT(std::string(messageOf(without.readSome(2 << 20, 1000, out.data()).status())),
                HasSubstr("a.csv.gz: damaged or truncated"));
}

TEST_F(GzipTextTest, TruncatedFilesAreNamed) {
    const std::string bytes = packed(someText(1 << 20));
    for (const std::size_t left : {bytes.size() / 2, bytes.size() - 3}) {
        write(bytes.substr(0, left));
        GzipText text = openText(nullptr);
        std::string out(2 << 20, '\0');
        EXPECT_THAT(std::string(messageOf(text.readSome(0, std::ssize(out), out.data()).status())),
                    HasSubstr("a.csv.gz: damaged or truncated"));
    }
}

TEST(GzipPoints, AreBounded) {
    GzipPoints points;
    for (std::int64_t file = 0; file < 3; ++file) {
        for (std::int64_t at = 1; at < 5'000; ++at) {
            points.add(std::to_string(file), {at << 20, at << 18, 0, "w"});
        }
    }
    EXPECT_LE(points.count(), 1'024U);
    EXPECT_GE(points.count(), 256U);
    const auto point = points.before("1", 4'000LL << 20);
    ASSERT_NE(point, nullptr);
    EXPECT_GT(point->text, 3'900LL << 20);
    EXPECT_EQ(points.before("1", 100), nullptr);
    EXPECT_EQ(points.before("other", 1LL << 40), nullptr);
}

}  // namespace
}  // namespace millrace::csv
