#include <cstring>

#include <fcntl.h>

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_header.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "tests/support/checkpoint_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<CheckpointInfo> verifyAt(const std::string& path, const ReadWatch& watch = {}) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.isOpen()) << path;
    return verify(fd.get(), path, watch);
}

Status readBytes(const std::string& bytes) {
    return readContent(FileBytes::ofMemory(bytes, "file")).status();
}

std::string messageOfBytes(const std::string& bytes) {
    const Status status = readBytes(bytes);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("checkpoint file: "));
    return std::string(messageOf(status));
}

/// A file with tensors of several types.
std::string smallFile(const tests::TempDir& scratch) {
    const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{6, 5, 4, 3, 2, 1};
    const std::vector<std::int64_t> n{7};
    const std::vector<std::uint8_t> u{1, 2, 3};
    const Json meta = {{"step", 40},
                       {"attempt", 3},
                       {"state", "{\"cursor\":1}"},
                       {"unacked", {"{\"line\":\"\\u00e4\"}", "two"}},
                       {"identity", {{"run", "r-abcde"}}}};
    const auto written = writeCheckpointFile(scratch / "small", meta,
                                             {{"u", DType::kUint8, {3}, false, u.data(), 3},
                                              {"b", DType::kFloat32, {3, 2}, true, b.data(), 24},
                                              {"a", DType::kFloat32, {2, 3}, true, a.data(), 24},
                                              {"none", DType::kFloat64, {0, 4}, false, nullptr, 0},
                                              {"n", DType::kInt64, {}, false, n.data(), 8}});
    EXPECT_TRUE(written.ok()) << written.status();
    return *readFile(scratch / "small");
}

/// The JSON of a file's header, and where its tensors begin.
std::string headerOf(const std::string& file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    return file.substr(sizeof length, length);
}

/// The file with another header whose length and checksum are valid.
std::string withHeader(const std::string& file, std::string header) {
    const std::string values = file.substr(8 + headerOf(file).size());
    header.resize((header.size() + 7) / 8 * 8, ' ');
    header.replace(kFormatBeginning.size(), kChecksumDigits, headerChecksum(header));
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + values;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(CheckpointFile, IsASafetensorsFileWithLongValuesFirst) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch);
    const std::string header = headerOf(file);
    EXPECT_EQ(header.size() % 8, 0U);
    const Json json = Json::parse(header);
    const Json& metadata = json["__metadata__"];
    EXPECT_EQ(metadata["format"], "millrace-checkpoint-2");
    EXPECT_EQ(metadata["step"], "40");
    EXPECT_EQ(metadata["state"], "{\"cursor\":1}") << "a text without change";
    EXPECT_EQ(metadata["weights"], "[\"a\",\"b\"]");
    EXPECT_EQ(Json::parse(metadata["identity"].get<std::string>())["run"], "r-abcde");
    for (const auto& [name, value] : metadata.items()) {
        EXPECT_TRUE(value.is_string()) << name;
    }
    EXPECT_EQ(json["n"],
              Json({{"dtype", "I64"}, {"shape", Json::array()}, {"data_offsets", {0, 8}}}));
    EXPECT_EQ(json["none"]["data_offsets"], Json({8, 8}));
    EXPECT_EQ(json["a"]["data_offsets"], Json({8, 32}));
    EXPECT_EQ(json["u"]["data_offsets"], Json({56, 59}));
    EXPECT_EQ(file.size(), 8 + header.size() + 59);
}

TEST(CheckpointFile, ComesBackAsItWasWritten) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch);
    const auto content = readContent(FileBytes::ofMemory(file, "file"));
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(content->meta["step"], 40);
    EXPECT_EQ(content->meta["unacked"], Json({"{\"line\":\"\\u00e4\"}", "two"}));
    EXPECT_EQ(content->meta.size(), 5U);
    std::vector<std::string> names;
    for (const StoredTensor& tensor : content->tensors) {
        names.push_back(tensor.name);
        EXPECT_EQ(tensor.isWeight, tensor.name == "a" || tensor.name == "b");
    }
    EXPECT_THAT(names, ElementsAre("n", "none", "a", "b", "u"));
    EXPECT_EQ(file.substr(content->tensors[4].begin), std::string("\1\2\3"));
}

TEST(CheckpointFile, IsVerifiedWithItsFacts) {
    const tests::TempDir scratch;
    const auto written = tests::writeCheckpointFile(scratch / "x", {40, 3, "r-abcde", "stream"});
    const auto facts = verifyAt(scratch / "x");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->step, 40);
    EXPECT_EQ(facts->attempt, 3);
    EXPECT_EQ(facts->epoch, 1);
    EXPECT_EQ(facts->run, "r-abcde");
    EXPECT_EQ(facts->streamHash, "stream");
    EXPECT_EQ(facts->state, "{}");
    EXPECT_EQ(facts->bytes, written.bytes);
    EXPECT_EQ(facts->hash, written.hash);
    EXPECT_EQ(facts->bytes, static_cast<std::int64_t>(std::filesystem::file_size(scratch / "x")));
}

TEST(CheckpointFile, WithManyLinesThatWereNotAcknowledgedIsReadBack) {
    const tests::TempDir scratch;
    const Json meta = {{"step", 40}, {"unacked", {std::string(std::size_t{32} << 20, 'x')}}};
    ASSERT_TRUE(writeCheckpointFile(scratch / "x", meta, {}).ok());
    const UniqueFd fd(::open((scratch / "x").c_str(), O_RDONLY | O_CLOEXEC));
    const auto content = readContent(*FileBytes::ofFile(fd.get(), "x"));
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(content->facts.step, 40);
    EXPECT_TRUE(content->meta == meta);
    EXPECT_TRUE(content->tensors.empty());
}

TEST(CheckpointFile, CutAnywhereIsDamaged) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch);
    ASSERT_TRUE(readBytes(file).ok());
    for (std::size_t size = 0; size < file.size(); ++size) {
        ASSERT_TRUE(absl::IsDataLoss(readBytes(file.substr(0, size)))) << size;
    }
    EXPECT_THAT(messageOfBytes(file + "x"), HasSubstr("1 bytes behind its last tensor"));
}

TEST(CheckpointFile, WithAnyBitChangedIsNotTaken) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch);
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string changed = file;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        const Status status = readBytes(changed);
        const bool isVersion = bit / 8 == 8 + kFormatStem.size();
        ASSERT_TRUE(absl::IsDataLoss(status) || (isVersion && absl::IsFailedPrecondition(status)))
            << bit << status;
    }
}

TEST(CheckpointFile, WhoseTensorsAreExchangedIsDamaged) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch);
    const std::size_t base = 8 + headerOf(file).size();
    const std::string swapped = file.substr(0, base + 8) + file.substr(base + 32, 24) +
                                file.substr(base + 8, 24) + file.substr(base + 56);
    EXPECT_THAT(messageOfBytes(swapped), HasSubstr("tensor a do not fit their checksum"));
    const std::string header =
        replaced(replaced(replaced(headerOf(file), "\"a\":{", "\"x\":{"), "\"b\":{", "\"a\":{"),
                 "\"x\":{", "\"b\":{");
    EXPECT_THAT(messageOfBytes(withHeader(file, header)),
                HasSubstr("tensor b do not fit their checksum"));
}

// A header with wrong content and a valid checksum is rejected.
TEST(CheckpointFile, WhoseHeaderDoesNotFitItsTensorsIsDamaged) {
    const tests::TempDir scratch;
    const std::string file = smallFile(scratch), header = headerOf(file);
    ASSERT_TRUE(readBytes(withHeader(file, header)).ok());
    const auto why = [&](const std::string& from, const std::string& to) {
        return messageOfBytes(withHeader(file, replaced(header, from, to)));
    };
    EXPECT_THAT(why("[2,3]", "[3,3]"), HasSubstr("not as long as its shape"));
    EXPECT_THAT(why("[2,3]", "[4294967296,4294967296,4294967296]"), HasSubstr("as its shape"));
    EXPECT_THAT(why("[2,3]", "[-2,3]"), HasSubstr("something else than is due"));
    EXPECT_THAT(why("[2,3]", "[2.0,3]"), HasSubstr("something else than is due"));
    EXPECT_THAT(why("\"F32\"", "\"F33\""), HasSubstr("type F33"));
    EXPECT_THAT(why("[32,56]", "[33,57]"), HasSubstr("tensor b has a hole before it"));
    EXPECT_THAT(why("[32,56]", "[31,55]"), HasSubstr("tensor b overlaps the tensor before it"));
    EXPECT_THAT(why("[32,56]", "[56,32]"), HasSubstr("tensor b is not as long"));
    EXPECT_THAT(why("[32,56]", "[32,56,56]"), HasSubstr("no two offsets"));
    EXPECT_THAT(why("\"b\":{", "\"a\":{"), HasSubstr("names 'a' twice"));
    EXPECT_THAT(why("\"step\":", "\"state\":"), HasSubstr("names 'state' twice"));
    EXPECT_THAT(why("\"dtype\":\"I64\"", "\"dtype\":\"I64\",\"dtype\":\"I64\""),
                HasSubstr("names 'dtype' twice"));
    EXPECT_THAT(why("\"dtype\":\"I64\",", ""), HasSubstr("tensor n has not dtype"));
    EXPECT_THAT(why("\"dtype\":\"I64\"", "\"extra\":\"I64\""), HasSubstr("behind 'extra'"));
    EXPECT_THAT(why("\"step\":\"40\"", "\"step\":40"), HasSubstr("behind 'step'"));
    EXPECT_THAT(why("\"step\":\"40\"", "\"step\":\"4o\""), HasSubstr("its step cannot be read"));
    EXPECT_THAT(why("\"weights\"", "\"lights\""), HasSubstr("has no weights"));
}

TEST(CheckpointFile, OfAnotherKindIsNamedSo) {
    std::string header = R"({"a":{"dtype":"U8","shape":[80],"data_offsets":[0,80]}})";
    header.resize(64, ' ');
    const std::uint64_t length = header.size();
    const std::string other = std::string(reinterpret_cast<const char*>(&length), 8) + header;
    EXPECT_THAT(messageOfBytes(other + std::string(80, 'x')),
                HasSubstr("does not begin like a checkpoint"));
    EXPECT_THAT(messageOfBytes(std::string(4096, 'x')), HasSubstr("does not begin"));
    EXPECT_THAT(messageOfBytes(""), HasSubstr("is not a checkpoint (0 bytes)"));
}

TEST(CheckpointFile, ALongReadTellsItsProgressAndCanBeEnded) {
    const tests::TempDir scratch;
    tests::writeCheckpointFile(scratch / "x", {1, 1, "r", "s", std::size_t{5} << 20});
    std::uint64_t read = 0;
    int pieces = 0;
    ReadWatch watch{[&] { return pieces == 3; },
                    [&](std::uint64_t bytes) {
                        read += bytes;
                        ++pieces;
                    }};
    EXPECT_TRUE(absl::IsCancelled(verifyAt(scratch / "x", watch).status()));
    EXPECT_EQ(read, std::uint64_t{3} << 20);
    watch.isCancelled = nullptr;
    EXPECT_TRUE(verifyAt(scratch / "x", watch).ok());
}

}  // namespace
}  // namespace millrace::checkpoint
