#include <csignal>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "backend/filesystem/files.h"
#include "backend/train/init_from.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using test::Scratch;
using ::testing::HasSubstr;

struct State {
    std::vector<float> weights = std::vector<float>(600, 1.5F);
    std::vector<double> sums{1, 2, 3};
    std::int64_t updates = 9;
    std::vector<TensorRef> tensors() {
        return {{"a.weight", DType::kFloat32, {20, 30}, weights.data(), true},
                {"b", DType::kFloat64, {3}, sums.data()},
                {"empty", DType::kInt64, {0}, nullptr},
                {"n", DType::kInt64, {1}, &updates}};
    }
};

/// The path of a checkpoint of attempt 1.
std::string write(const Scratch& scratch, std::int64_t step, State& state) {
    const auto file = writeCheckpoint(scratch.path(), {step, 1}, Json::object(), state.tensors());
    EXPECT_TRUE(file.ok()) << file.status();
    return scratch / file->name;
}

TEST(Checkpoint, ComesBackAsItWasWritten) {
    const Scratch scratch;
    State state;
    const auto file =
        writeCheckpoint(scratch.path(), {42, 3}, {{"rows", 7}, {"state", "x"}}, state.tensors());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->name, "step-00000042.a3.safetensors");
    const std::string path = scratch / file->name;
    EXPECT_EQ(file->bytes, static_cast<std::int64_t>(std::filesystem::file_size(path)));
    const auto read = Checkpoint::open(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(jsonInt(read->meta(), "step"), 42);
    EXPECT_EQ(jsonInt(read->meta(), "attempt"), 3);
    EXPECT_EQ(jsonInt(read->meta(), "rows"), 7);
    State other;
    other.weights.assign(600, 0);
    other.sums.assign(3, 0);
    other.updates = 0;
    ASSERT_TRUE(copyTensors(*read, other.tensors()).ok());
    EXPECT_EQ(other.weights, state.weights);
    EXPECT_EQ(other.sums, state.sums);
    EXPECT_EQ(other.updates, 9);
    EXPECT_TRUE(read->find("a.weight")->isWeight);
    EXPECT_EQ(read->find("none"), nullptr);
}

TEST(Checkpoint, CutAnywhereIsDataLossThatNamesTheFile) {
    const Scratch scratch;
    State state;
    const std::string path = write(scratch, 1, state);
    const std::string bytes = *readFile(path);
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
        const auto read = Checkpoint::open(path);
        ASSERT_FALSE(read.ok()) << size;
        EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << size;
        EXPECT_THAT(std::string(messageOf(read.status())), HasSubstr(path));
    }
}

TEST(Checkpoint, WithAnyBitChangedIsRefused) {
    const Scratch scratch;
    State state;
    const std::string path = write(scratch, 1, state);
    const std::string bytes = *readFile(path);
    for (std::size_t at = 0; at < bytes.size(); at += 13) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
        EXPECT_FALSE(Checkpoint::open(path).ok()) << at;
    }
}

TEST(Checkpoint, ThatDoesNotExistIsNotFound) {
    EXPECT_EQ(Checkpoint::open("/nonexistent/x.safetensors").status().code(),
              absl::StatusCode::kNotFound);
}

TEST(Checkpoint, OfARandomFileIsDataLoss) {
    const Scratch scratch;
    std::ofstream(scratch / "x.safetensors") << std::string(4096, 'x');
    EXPECT_EQ(Checkpoint::open(scratch / "x.safetensors").status().code(),
              absl::StatusCode::kDataLoss);
}

std::size_t numEntries(const std::string& directory) {
    const std::filesystem::directory_iterator entries(directory);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// Runs `body` in a child process; its exit code.
template <class Body>
int inChild(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST(Checkpoint, ThatCannotBeWrittenLeavesTheOldOneAndNothingElse) {
    const Scratch scratch;
    State state;
    const std::string path = write(scratch, 1, state);
    const int code = inChild([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1024, 1024};  // write() fails in the middle
        ::setrlimit(RLIMIT_FSIZE, &limit);
        return writeCheckpoint(scratch.path(), {2, 1}, Json::object(), state.tensors()).ok() ? 1
                                                                                             : 0;
    });
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(Checkpoint::open(path).ok());
    EXPECT_EQ(numEntries(scratch.path()), 1U);
}

TEST(Checkpoint, OnAFullDiskIsResourceExhausted) {
    const Scratch scratch;
    State state;
    constexpr int kNotPermitted = 77;
    const int code = inChild([&] {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=8k") != 0) {
            return kNotPermitted;
        }
        state.weights.assign(600, 1);
        std::vector<float> large(100'000);
        const auto file =
            writeCheckpoint(scratch.path(), {2, 1}, Json::object(),
                            {{"large", DType::kFloat32, {100'000}, large.data(), true}});
        const bool isFull = file.status().code() == absl::StatusCode::kResourceExhausted;
        return isFull && numEntries(scratch.path()) == 0 ? 0 : 1;
    });
    if (code == kNotPermitted) {
        GTEST_SKIP() << "needs the right to mount a small file system";
    }
    EXPECT_EQ(code, 0);
}

TEST(Checkpoint, WritingOneRemovesNoOther) {
    const Scratch scratch;
    State state;
    for (const int step : {100, 5, 20, 1000}) {
        write(scratch, step, state);
    }
    EXPECT_EQ(numEntries(scratch.path()), 4U);
}

TEST(CopyTensors, NamesTheFirstShapeThatDoesNotFitAndCopiesNothing) {
    const Scratch scratch;
    State state;
    const auto read = Checkpoint::open(write(scratch, 1, state));
    State other;
    other.sums.assign(3, 0);
    auto tensors = other.tensors();
    tensors[0].shape = {30, 20};
    std::swap(tensors[0], tensors[1]);
    const Status status = copyTensors(*read, tensors);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("a.weight is float32[20, 30]"));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("float32[30, 20]"));
    EXPECT_EQ(other.sums[0], 0);
}

TEST(CopyTensors, NamesAMissingAndAnUnknownTensor) {
    const Scratch scratch;
    State state;
    const auto read = Checkpoint::open(write(scratch, 1, state));
    State other;
    auto tensors = other.tensors();
    tensors.push_back({"zz", DType::kInt64, {1}, &other.updates});
    EXPECT_THAT(std::string(messageOf(copyTensors(*read, tensors))), HasSubstr("has no zz"));
    tensors = other.tensors();
    tensors.erase(tensors.begin());
    EXPECT_THAT(std::string(messageOf(copyTensors(*read, tensors))),
                HasSubstr("a.weight, which this model does not know"));
}

/// The tensors of an earlier run and those of another model.
class CopyMatching : public ::testing::Test {
 protected:
    void SetUp() override {
        std::vector<TensorRef> was = {
            tensor("embedding.user.weight", {2, 3}, 1), tensor("input.count", {2}, 2),
            tensor("optimizer.embedding.user.weight.second", {2, 3}, 3, false),
            tensor("optimizer.updates", {1}, 4, false), tensor("top.weight", {2, 2}, 5)};
        const auto written = writeCheckpoint(scratch_ / "c", {1, 1}, Json::object(), was);
        ASSERT_TRUE(written.ok()) << written.status();
        file_.emplace(*Checkpoint::open(strCat(scratch_ / "c", "/", written->name)));
        from_.checkpoint = &*file_;
    }
    TensorRef tensor(const std::string& name, std::vector<std::int64_t> shape, float value,
                     bool isWeight = true) {
        TensorRef t{name, DType::kFloat32, std::move(shape), nullptr, isWeight};
        t.data = held_.emplace_back(static_cast<std::size_t>(t.numElements()), value).data();
        return t;
    }
    static std::vector<float> valuesOf(const TensorRef& t) {
        const auto* const data = static_cast<const float*>(t.data);
        return {data, data + t.numElements()};
    }

    const Scratch scratch_;
    std::deque<std::vector<float>> held_;
    std::optional<Checkpoint> file_;
    InitFrom from_;
};

TEST_F(CopyMatching, TakesWeightsByNameAndTheOptimizerOnlyWhereItIsWanted) {
    const std::vector<TensorRef> to = {
        tensor("embedding.user.weight", {2, 3}, 0),
        tensor("optimizer.embedding.user.weight.second", {2, 3}, 0, false),
        tensor("optimizer.updates", {1}, 0, false)};
    ASSERT_TRUE(copyMatching(from_, to).ok());
    EXPECT_EQ(valuesOf(to[0])[5], 1);
    EXPECT_EQ(valuesOf(to[1])[5] + valuesOf(to[2])[0], 0);
    from_.takesOptimizer = true;
    ASSERT_TRUE(copyMatching(from_, to).ok());
    EXPECT_EQ(valuesOf(to[1])[5] + valuesOf(to[2])[0], 7);
}

TEST_F(CopyMatching, RowsOfAVocabularyThatGrewBeginFresh) {
    const std::vector<TensorRef> to = {tensor("embedding.user.weight", {3, 3}, 9),
                                       tensor("top.weight", {2, 2}, 9)};
    auto left = copyMatching(from_, to);
    ASSERT_TRUE(left.ok()) << left.status();
    EXPECT_EQ(*left, std::vector<std::string>{"embedding.user.weight"});
    EXPECT_EQ(valuesOf(to[0]), std::vector<float>(9, 9)) << "hashed: a row is another value's";
    from_.growing = {"user"};
    ASSERT_TRUE(copyMatching(from_, to).ok());
    EXPECT_EQ(valuesOf(to[0]), (std::vector<float>{1, 1, 1, 1, 1, 1, 9, 9, 9}));
    EXPECT_EQ(valuesOf(to[1])[3], 5);
}

TEST_F(CopyMatching, LeavesWhatStandsForSomethingElse) {
    from_.changed = {"user"};
    from_.hasSameInput = false;
    const std::vector<TensorRef> to = {tensor("embedding.user.weight", {2, 3}, 9),
                                       tensor("input.count", {2}, 9), tensor("new.weight", {1}, 9),
                                       tensor("top.weight", {2, 2}, 9)};
    const auto left = copyMatching(from_, to);
    ASSERT_TRUE(left.ok()) << left.status();
    EXPECT_EQ(*left,
              (std::vector<std::string>{"embedding.user.weight", "input.count", "new.weight"}));
    EXPECT_EQ(valuesOf(to[0])[0] + valuesOf(to[1])[0] + valuesOf(to[2])[0], 27);
}

TEST_F(CopyMatching, RefusesAModelOfWhichNothingFits) {
    const std::vector<TensorRef> to = {tensor("other.weight", {2, 3}, 9),
                                       tensor("top.weight", {2, 5}, 9)};
    EXPECT_THAT(std::string(messageOf(copyMatching(from_, to).status())),
                HasSubstr("none of its tensors has the name and shape of one of this model"));
    const std::vector<std::int64_t> numbers(4);
    const std::vector<TensorRef> wide = {
        {"top.weight", DType::kFloat64, {2, 2}, const_cast<std::int64_t*>(numbers.data()), true}};
    EXPECT_THAT(std::string(messageOf(copyMatching(from_, wide).status())),
                HasSubstr("top.weight is float32; this model needs float64; give train.precision"));
}

}  // namespace
}  // namespace millrace::train
