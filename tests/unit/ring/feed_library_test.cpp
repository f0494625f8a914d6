// The C interface as its callers use it: structs of any age, columns before the first batch, states
// of batches that are still held, refusals, and signals and handlers that the library must not
// touch.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/eventfd.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/feed/dlpack.h"
#include "backend/feed/feed_python.h"
#include "backend/feed/reader_ring.h"
#include "backend/filesystem/files.h"
#include "tests/unit/ring/whole_epoch.h"

extern "C" int readStream(const char* socket_path, std::uint64_t* rows, char** state);

namespace millrace::ring {
namespace {

std::string textOf(const std::string& path) {
    const Result<std::string> text = readFile(std::string(MILLRACE_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
}

TEST(FeedLibrary, TheExampleOfItsPageReadsAStreamInC) {
    const std::string page = textOf("docs/reference/feed-library.md");
    const std::string source = textOf("tests/unit/ring/c_caller.c");
    const std::size_t from = page.find("```c\n") + 5;
    const std::string example = page.substr(from, page.find("```\n", from) - from);
    EXPECT_NE(source.find(example), std::string::npos) << "the page and c_caller.c differ";

    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(16));
    std::uint64_t rows = 0;
    char* state = nullptr;
    EXPECT_EQ(readStream(path.c_str(), &rows, &state), 0);
    EXPECT_EQ(rows, 128U);
    ASSERT_NE(state, nullptr);
    stream::StreamState end;
    EXPECT_EQ(end.read(state), "");
    EXPECT_EQ(end.rowsDelivered, 128);
    millrace_free(state);
}

std::unique_ptr<DlManagedTensor, void (*)(DlManagedTensor*)> tensorOf(millrace_batch* batch,
                                                                      std::size_t column,
                                                                      std::int32_t part) {
    auto* tensor = static_cast<DlManagedTensor*>(millrace_batch_dlpack(batch, column, part));
    return {tensor, tensor == nullptr ? nullptr : tensor->deleter};
}

/// The first batch of a feed of its own.
struct FirstBatch {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed{serverOptions(path), wholeEpoch(16)};
    Reader reader;

    millrace_batch* take() {
        const bool isThere = reader.open(path) == 0 && reader.next() == MILLRACE_FEED_BATCH;
        EXPECT_TRUE(isThere) << reader.error;
        return isThere ? reader.event.batch : nullptr;
    }
    /// The column of lists.
    millrace_column list() const {
        millrace_column column{};
        column.struct_size = sizeof column;
        EXPECT_EQ(millrace_batch_column(reader.event.batch, 3, &column), 0);
        return column;
    }
};

// Columns of testLayout(): row file, row number, id, list, label.
TEST(FeedLibrary, TensorsKeepTheMemoryOfTheirBatch) {
    FirstBatch first;
    millrace_batch* batch = first.take();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(first.reader.event.rows, 8U);
    const millrace_column list = first.list();

    auto values = tensorOf(batch, 3, MILLRACE_PART_DATA);
    auto offsets = tensorOf(batch, 3, MILLRACE_PART_OFFSETS);
    auto files = tensorOf(batch, 0, MILLRACE_PART_DATA);
    auto label = tensorOf(batch, 4, MILLRACE_PART_DATA);
    ASSERT_TRUE(values && offsets && files && label);
    EXPECT_EQ(values->tensor.data, list.data);
    EXPECT_EQ(values->tensor.shape[0], static_cast<std::int64_t>(list.num_values));
    EXPECT_EQ(offsets->tensor.data, list.offsets);
    EXPECT_EQ(offsets->tensor.shape[0], 9);
    EXPECT_EQ(offsets->tensor.dtype.code, kDlInt);
    EXPECT_EQ(offsets->tensor.dtype.bits, 64);
    EXPECT_EQ(files->tensor.dtype.code, kDlUInt);
    EXPECT_EQ(files->tensor.dtype.bits, 32);
    EXPECT_EQ(label->tensor.dtype.code, kDlFloat);
    EXPECT_EQ(label->tensor.numDims, 1);
    EXPECT_EQ(label->tensor.deviceType, kDlCpu);

    EXPECT_FALSE(tensorOf(batch, 3, MILLRACE_PART_WEIGHTS)) << "it has none";
    EXPECT_FALSE(tensorOf(batch, 3, MILLRACE_PART_INVERSE));
    EXPECT_FALSE(tensorOf(batch, 2, MILLRACE_PART_OFFSETS)) << "no list";
    EXPECT_FALSE(tensorOf(batch, 3, 6)) << "no such part";
    EXPECT_FALSE(tensorOf(batch, 5, MILLRACE_PART_DATA)) << "no such column";

    const millrace_part part{3, MILLRACE_PART_DATA};
    EXPECT_EQ(millrace_python_tensors(batch, &part, 1), nullptr) << "no interpreter";
    EXPECT_EQ(millrace_python_batch(batch), nullptr);

    const auto held = [&first] {
        millrace_feed_stats stats{};
        stats.struct_size = sizeof stats;
        millrace_feed_get_stats(first.reader.feed(), &stats);
        return stats.held_batches;
    };
    millrace_batch_release(batch);
    files.reset();
    label.reset();
    offsets.reset();
    EXPECT_EQ(held(), 1U);
    EXPECT_EQ(static_cast<std::int64_t*>(values->tensor.data)[0], 0) << "still mapped";
    std::thread([&values] { values.reset(); }).join();
    EXPECT_EQ(held(), 0U);
}

// Columns of testLayout(): row file, row number, id, list, label.
TEST(FeedLibrary, IdsAndListsAreOneTensor) {
    FirstBatch first;
    millrace_batch* batch = first.take();
    ASSERT_NE(batch, nullptr);
    const millrace_column list = first.list();

    auto features = tensorOf(batch, 2, MILLRACE_PART_FEATURES);
    auto lists = tensorOf(batch, 3, MILLRACE_PART_FEATURES);
    ASSERT_TRUE(features && lists);
    EXPECT_EQ(features->tensor.shape[0], static_cast<std::int64_t>(8 + list.num_values));
    EXPECT_EQ(static_cast<std::int64_t*>(features->tensor.data) + 8, list.data);
    EXPECT_EQ(lists->tensor.data, list.data);
    EXPECT_FALSE(tensorOf(batch, 4, MILLRACE_PART_FEATURES)) << "a label";
    EXPECT_FALSE(tensorOf(batch, 3, MILLRACE_PART_FEATURE_WEIGHTS)) << "without weights";
    const std::uint32_t both[] = {3, 2};
    std::int64_t lengths[16] = {};
    std::size_t count = 0;
    EXPECT_EQ(millrace_batch_lengths(batch, both, 2, lengths, 15, &count), 0);
    EXPECT_EQ(std::pair(count, lengths[15]), (std::pair<std::size_t, std::int64_t>(16, 0)));
    EXPECT_EQ(millrace_batch_lengths(batch, both, 2, lengths, 16, &count), 0);
    for (std::size_t row = 0; row < 8; ++row) {
        EXPECT_EQ(lengths[row], list.offsets[row + 1] - list.offsets[row]);
        EXPECT_EQ(lengths[8 + row], 1);
    }
    const std::uint32_t none = 5;
    EXPECT_EQ(millrace_batch_lengths(batch, &none, 1, lengths, 16, &count), MILLRACE_FEED_INVALID);
    millrace_batch_release(batch);
}

TEST(FeedLibrary, SaysItsAbiAndVersion) {
    EXPECT_EQ(millrace_feed_abi(), static_cast<std::uint32_t>(MILLRACE_FEED_ABI));
    const std::string version = millrace_feed_version();
    EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
    millrace_free(nullptr);
}

TEST(FeedLibrary, StructsOfAnyAgeAreFilledAsFarAsTheyGo) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(4));
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;

    constexpr std::size_t kOlder = offsetof(millrace_feed_event, is_left_out);
    struct Longer {
        millrace_feed_event event;
        std::uint64_t later[2];
    };
    millrace_feed_event none{};
    EXPECT_EQ(millrace_feed_next(reader.feed(), 1'000, &none), MILLRACE_FEED_INVALID);
    EXPECT_STREQ(millrace_feed_error(reader.feed()),
                 "millrace_feed_next: event->struct_size is sizeof(millrace_feed_event)");
    EXPECT_EQ(millrace_feed_next(reader.feed(), 1'000, nullptr), MILLRACE_FEED_INVALID);
    millrace_feed_event older;
    std::memset(&older, 0x5a, sizeof older);
    older.struct_size = kOlder;
    ASSERT_EQ(millrace_feed_next(reader.feed(), 20'000, &older), MILLRACE_FEED_BATCH);
    EXPECT_EQ(older.struct_size, kOlder);
    EXPECT_EQ(older.is_left_out, 0x5a5a5a5aU) << "nothing behind its end is written";
    EXPECT_TRUE(isFrame(older.batch, 0));
    Longer longer;
    std::memset(&longer, 0x5a, sizeof longer);
    longer.event.struct_size = sizeof longer;
    ASSERT_EQ(millrace_feed_next(reader.feed(), 20'000, &longer.event), MILLRACE_FEED_BATCH);
    EXPECT_EQ(longer.event.struct_size, sizeof longer);
    EXPECT_EQ(longer.later[0] + longer.later[1], 0U) << "what is not known here is 0";

    millrace_column column{};
    EXPECT_EQ(millrace_batch_column(older.batch, 0, &column), MILLRACE_FEED_INVALID);
    EXPECT_EQ(column.data, nullptr);
    millrace_feed_info info{};
    millrace_feed_get_info(reader.feed(), &info);
    EXPECT_EQ(info.micro_rows, 0U) << "a struct without a size is left alone";
    info.struct_size = sizeof info;
    millrace_feed_get_info(reader.feed(), &info);
    EXPECT_EQ(info.micro_rows, 8U);
    EXPECT_EQ(info.step_batches, 4U);
    EXPECT_EQ(info.stream_hash, kStream);
    millrace_batch_release(older.batch);
    millrace_batch_release(longer.event.batch);
}

TEST(FeedLibrary, OptionsOfALaterVersionAreRefusedWhereTheyAskForSomething) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(4));
    struct {
        millrace_feed_options options;
        std::uint64_t later;
    } longer{};
    longer.options.struct_size = sizeof longer;
    longer.options.world_size = 1;
    longer.options.abort_fd = longer.options.numa_node = -1;
    longer.options.attempt = 1;
    longer.options.stream = "train";
    longer.later = 1;
    char error[512] = "";
    millrace_feed* opened = nullptr;
    EXPECT_EQ(millrace_feed_open(path.c_str(), &longer.options, &opened, error, sizeof error),
              MILLRACE_FEED_INVALID);
    EXPECT_NE(std::string(error).find("later version of this library, which is "),
              std::string::npos)
        << error;
    longer.later = 0;
    EXPECT_EQ(millrace_feed_open(path.c_str(), &longer.options, &opened, error, sizeof error), 0)
        << error;
    millrace_feed_close(opened);
    longer.options.struct_size = offsetof(millrace_feed_options, join);  // the oldest size
    longer.options.join = 77;
    EXPECT_EQ(millrace_feed_open(path.c_str(), &longer.options, &opened, error, sizeof error), 0)
        << error;
    millrace_feed_close(opened);
    longer.options.struct_size = sizeof longer.options;
    EXPECT_EQ(millrace_feed_open(path.c_str(), &longer.options, &opened, error, sizeof error),
              MILLRACE_FEED_INVALID)
        << "join is 0 or 1";
}

TEST(FeedLibrary, ColumnsAreKnownBeforeTheFirstBatch) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Mutex mutex;
    CondVar changed;
    bool goesOn = false;
    Feed feed(serverOptions(path),
              [&](const FeedHello& hello, RingWriter& w, std::stop_token stop) {
                  RingSink sink = sinkOf(w, 4, hello);
                  {
                      MutexLock lock(mutex);
                      while (!goesOn) {
                          changed.wait(mutex);
                      }
                  }
                  ASSERT_TRUE(sink.begin(stop).ok());
                  ASSERT_TRUE(sink.begin(stop).ok()) << "told once";
                  {
                      MutexLock lock(mutex);
                      while (goesOn) {
                          changed.wait(mutex);
                      }
                  }
                  ASSERT_TRUE(writeFrame(sink, 0, stop).ok());
              });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    std::size_t count = 77;
    EXPECT_EQ(millrace_feed_schema(reader.feed(), nullptr, 0, &count), MILLRACE_FEED_TIMEOUT);
    const auto say = [&](bool what) {
        MutexLock lock(mutex);
        goesOn = what;
        changed.notifyAll();
    };
    say(true);
    while (millrace_feed_schema(reader.feed(), nullptr, 0, &count) == MILLRACE_FEED_TIMEOUT) {
        std::this_thread::yield();
    }
    ASSERT_EQ(count, 5U);
    millrace_column columns[6] = {};
    EXPECT_EQ(millrace_feed_schema(reader.feed(), columns, 6, &count), MILLRACE_FEED_INVALID)
        << "columns[0] has no size";
    columns[0].struct_size = sizeof columns[0];
    ASSERT_EQ(millrace_feed_schema(reader.feed(), columns, 6, &count), 0);
    const auto nameOf = [](const millrace_column& c) { return std::string(c.name, c.name_bytes); };
    EXPECT_EQ(nameOf(columns[0]), "row_file");
    EXPECT_EQ(nameOf(columns[3]), "list");
    EXPECT_EQ(columns[3].role, static_cast<std::uint32_t>(MILLRACE_ROLE_LIST));
    EXPECT_EQ(columns[4].dtype, static_cast<std::uint32_t>(MILLRACE_DTYPE_FLOAT32));
    EXPECT_EQ(columns[4].width, 1U);
    for (std::size_t c = 0; c < count; ++c) {
        EXPECT_EQ(columns[c].data, nullptr);
        EXPECT_EQ(columns[c].offsets, nullptr);
        EXPECT_EQ(columns[c].items, 0U);
        EXPECT_EQ(columns[c].is_list, c == 3 ? 1U : 0U);
    }
    EXPECT_EQ(columns[5].struct_size, 0U) << "only as many as there are";
    say(false);
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch_release(reader.event.batch);
}

TEST(FeedLibrary, AllColumnsOfABatchComeInOneCall) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(4));
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    std::size_t count = 0;
    millrace_column all[5] = {};
    all[0].struct_size = sizeof all[0];
    EXPECT_EQ(millrace_batch_all_columns(reader.event.batch, all, 2, &count), 0);
    EXPECT_EQ(count, 5U);
    EXPECT_EQ(all[2].name, nullptr) << "at most two";
    constexpr auto kOlder = static_cast<std::uint32_t>(offsetof(millrace_column, is_list));
    all[0].struct_size = kOlder;
    all[0].is_list = 9;
    EXPECT_EQ(millrace_batch_all_columns(reader.event.batch, all, 1, &count), 0);
    EXPECT_EQ(all[0].is_list, 9U) << "an older program has no such member";
    all[0].struct_size = sizeof all[0];
    ASSERT_EQ(millrace_batch_all_columns(reader.event.batch, all, 5, &count), 0);
    for (std::size_t c = 0; c < 5; ++c) {
        millrace_column one{};
        one.struct_size = sizeof one;
        ASSERT_EQ(millrace_batch_column(reader.event.batch, c, &one), 0);
        EXPECT_EQ(std::memcmp(&one, &all[c], sizeof one), 0) << c;
    }
    millrace_batch_release(reader.event.batch);
}

TEST(FeedLibrary, WhatTheFeaturesAreIsToldAtHelloHoweverLong) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.inputs = "[\"" + std::string(700'000, 'x') + "\n\"]";  // more than a socket holds
    Feed feed(options, wholeEpoch(4));
    Reader reader;
    ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
    EXPECT_EQ(std::string(millrace_feed_inputs(reader.feed())), options.inputs);
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch_release(reader.event.batch);
}

TEST(FeedLibrary, WhatKeepsAFeedFromBeginningIsTheAnswerToTheQuestionForItsColumns) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Reader reader;
    std::size_t count = 0;
    int result = 0;
    const auto ask = [&] {
        do {
            result = millrace_feed_schema(reader.feed(), nullptr, 0, &count);
        } while (result == MILLRACE_FEED_TIMEOUT);
        return result;
    };
    {
        Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
            ASSERT_TRUE(w.error(invalidArgument("a.csv: no such column"), stop).ok());
        });
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        EXPECT_EQ(ask(), MILLRACE_FEED_FAILED);
        EXPECT_STREQ(millrace_feed_error(reader.feed()), "a.csv: no such column");
        EXPECT_EQ(reader.next(), MILLRACE_FEED_FAILED) << "it is not told twice, and stays";
        EXPECT_EQ(reader.event.number, 4U);
    }
    Reader other;
    {
        Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
        ASSERT_EQ(other.open(path), 0) << other.error;
    }
    do {
        result = millrace_feed_schema(other.feed(), nullptr, 0, &count);
    } while (result == MILLRACE_FEED_TIMEOUT);
    EXPECT_EQ(result, MILLRACE_FEED_LOST);
}

TEST(FeedLibrary, AStateOfABatchThatIsHeldCanStillBeHad) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(16));
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    while (reader.next() == MILLRACE_FEED_BATCH) {
        millrace_batch_release(reader.event.batch);
    }
    const auto stateAt = [&](std::uint64_t number) {
        char* text = millrace_feed_state_at(reader.feed(), 0, number);
        std::string copy = text == nullptr ? "" : text;
        millrace_free(text);
        return copy;
    };
    const std::string late = stateAt(12), early = stateAt(4), start = stateAt(0);
    EXPECT_FALSE(late.empty() || early.empty() || start.empty());
    EXPECT_EQ(stateAt(12), late);
    EXPECT_EQ(stateAt(6), "");
    EXPECT_STREQ(millrace_feed_error(reader.feed()),
                 "state of micro-batch 6 of epoch 0: not at the end of a step that was read");
    EXPECT_NE(reader.state(0, 8), "");
    EXPECT_EQ(stateAt(4), "") << "state() forgets";
    EXPECT_EQ(stateAt(12), late);
    EXPECT_EQ(reader.state(0, 12), late);
    EXPECT_EQ(reader.state(0, 8), "") << "state() forgets";
}

TEST(FeedLibrary, AFeedOfAnotherVersionIsRefusedNamingBoth) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    // RefusesWrongHellosWithASentence tests the writer's side of the hello.
    std::string wrong;
    auto writer = RingWriter::open({.ringBytes = 8192}, [&](int fd, std::uint64_t) {
        const std::uint32_t later = kRingVersion + 1;
        EXPECT_EQ(::pwrite(fd, &later, sizeof later, offsetof(RingHeader, version)), 4);
        EXPECT_EQ(ReaderRing::map(::dup(fd), nullptr, wrong), nullptr);
        return okStatus();
    });
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_EQ(wrong, strCat("the feed's ring is of version ", kRingVersion + 1,
                            ", this library reads version ", kRingVersion,
                            "; the loader and the reader's library must be of one version"));
}

TEST(FeedLibrary, RanksOfOneStreamMustAskForTheSameLast) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.worldSize = 2;
    Feed feed(options, [](const FeedHello&, RingWriter&, std::stop_token) {});
    Reader first, second, again;
    first.last = MILLRACE_LAST_DROP;
    ASSERT_EQ(first.open(options.socketPath, nullptr, "train", 0, 2), 0) << first.error;
    EXPECT_EQ(second.open(options.socketPath, nullptr, "train", 1, 2), MILLRACE_FEED_INVALID);
    EXPECT_EQ(second.error,
              "hello: rank 1 asks for last=keep, rank 0 for last=drop; all ranks of a stream must "
              "ask for the same");
    EXPECT_EQ(second.open(options.socketPath, nullptr, "eval", 1, 2), 0)
        << "of another stream: " << second.error;
    again.last = MILLRACE_LAST_DROP;
    EXPECT_EQ(again.open(options.socketPath, nullptr, "train", 1, 2), 0) << again.error;
}

TEST(FeedLibrary, ARingLiesOnTheNodeThatIsAskedForOrIsRefused) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), wholeEpoch(4));
    Reader reader, elsewhere;
    reader.numaNode = 0;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch_release(reader.event.batch);
    elsewhere.numaNode = 1'000'000;
    EXPECT_EQ(elsewhere.open(path), MILLRACE_FEED_INVALID);
    EXPECT_EQ(elsewhere.error, "ring: this machine has no NUMA node 1000000");
}

TEST(FeedLibrary, ItsThreadTakesNoSignals) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    sigset_t before, after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(::sigismember(&before, SIGINT), ::sigismember(&after, SIGINT));
    int watchers = 0;
    const std::uint64_t wanted = 1ULL << (SIGINT - 1) | 1ULL << (SIGTERM - 1) |
                                 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGCHLD - 1);
    while (watchers == 0) {  // the thread sets its name when it starts
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            std::ifstream status(task.path() / "status");
            std::string line, name;
            while (std::getline(status, line)) {
                name = line.starts_with("Name:") ? line : name;
                if (line.starts_with("SigBlk:") && name.find("feed-watch") != std::string::npos) {
                    ++watchers;
                    EXPECT_EQ(std::stoull(line.substr(8), nullptr, 16) & wanted, wanted) << line;
                }
            }
        }
    }
}

TEST(FeedLibrary, AnAbortByDescriptorStaysWhenItIsNoLongerReadable) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    const int event = ::eventfd(1, EFD_CLOEXEC);
    Reader reader;
    EXPECT_EQ(reader.open(path, nullptr, "train", 0, 1, event), MILLRACE_FEED_ABORTED);
    std::uint64_t drained = 0;
    ASSERT_EQ(::read(event, &drained, sizeof drained), 8);
    ASSERT_EQ(reader.open(path, nullptr, "train", 0, 1, event), 0) << reader.error;
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(event, &one, sizeof one), 8);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_ABORTED);
    ASSERT_EQ(::read(event, &drained, sizeof drained), 8);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_ABORTED);
    EXPECT_EQ(millrace_feed_reopen(reader.feed(), 1'000), MILLRACE_FEED_ABORTED);
    ::close(event);
}

TEST(FeedLibrary, AnAbortEndsTheWaitForASocketThatDoesNotCome) {
    tests::TempDir folder;
    const int event = ::eventfd(0, EFD_CLOEXEC);
    std::jthread aborter([&] {
        const std::uint64_t one = 1;
        ASSERT_EQ(::write(event, &one, sizeof one), 8);
    });
    Reader reader;
    EXPECT_EQ(reader.open(folder / "none.sock", nullptr, "train", 0, 1, event),
              MILLRACE_FEED_ABORTED);
    EXPECT_EQ(reader.error, "aborted");
    aborter.join();
    ::close(event);
}

}  // namespace
}  // namespace millrace::ring
