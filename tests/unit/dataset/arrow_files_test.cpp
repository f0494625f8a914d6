// Arrow IPC files: the thread that holds their buffers, and damaged files.
#include <atomic>
#include <cstring>
#include <thread>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/cast.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::texts;
using ::testing::HasSubstr;
using ArrayPtr = std::shared_ptr<arrow::Array>;

/// Counts calls from threads other than its maker's.
class OwnThreadPool final : public arrow::ProxyMemoryPool {
 public:
    OwnThreadPool() : arrow::ProxyMemoryPool(arrow::default_memory_pool()) {}
    using arrow::ProxyMemoryPool::Allocate;
    using arrow::ProxyMemoryPool::Free;
    using arrow::ProxyMemoryPool::Reallocate;
    arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
        count();
        return arrow::ProxyMemoryPool::Allocate(size, alignment, out);
    }
    arrow::Status Reallocate(std::int64_t from, std::int64_t to, std::int64_t alignment,
                             std::uint8_t** pointer) override {
        count();
        return arrow::ProxyMemoryPool::Reallocate(from, to, alignment, pointer);
    }
    void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override {
        count();
        arrow::ProxyMemoryPool::Free(buffer, size, alignment);
    }
    int own() const { return own_; }
    int others() const { return others_; }

 private:
    void count() { ++(std::this_thread::get_id() == maker_ ? own_ : others_); }
    const std::thread::id maker_ = std::this_thread::get_id();
    std::atomic<int> own_ = 0, others_ = 0;
};

ArrayPtr listsOf(const ArrayPtr& values, int each) {
    std::vector<std::int32_t> offsets;
    for (int i = 0; i <= values->length(); i += each) {
        offsets.push_back(i);
    }
    arrow::Int32Builder builder;
    EXPECT_TRUE(builder.AppendValues(offsets).ok());
    return *arrow::ListArray::FromArrays(**builder.Finish(), *values);
}

ArrayPtr castTo(const ArrayPtr& values, const std::shared_ptr<arrow::DataType>& type) {
    return *arrow::compute::Cast(*values, type);
}

/// Every type whose buffers hold offsets; `hasDictionary`: with a dictionary, which a stream cannot
/// have.
std::shared_ptr<arrow::RecordBatch> manyKinds(bool hasDictionary) {
    const ArrayPtr words =
        texts({"a", "a text that is longer than twelve bytes", "\x01", "of four"});
    const ArrayPtr eight =
        texts({"q", "w", "e", "r", "t", "y", "u", "a text of more than twelve bytes"});
    std::vector<test::Column> columns = {
        {"k", ints({1, 2, 3, 4}, 3)},
        {"s", words},
        {"large", castTo(words, arrow::large_utf8())},
        {"view", castTo(words, arrow::utf8_view())},
        {"list", listsOf(ints({1, 2, 3, 4, 5, 6, 7, 8}), 2)},
        {"texts", listsOf(eight, 2)},
        {"fixed", *arrow::FixedSizeListArray::FromArrays(eight, 2)},
        {"struct", *arrow::StructArray::Make({words, ints({5, 6, 7, 8})},
                                             std::vector<std::string>{"w", "i"})}};
    if (hasDictionary) {
        arrow::StringDictionary32Builder builder;
        for (const char* word : {"x", "y", "x", "z"}) {
            EXPECT_TRUE(builder.Append(word).ok());
        }
        columns.push_back({"dictionary", *builder.Finish()});
    }
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const test::Column& column : columns) {
        fields.push_back(arrow::field(column.name, column.values->type()));
        arrays.push_back(column.values);
    }
    return arrow::RecordBatch::Make(arrow::schema(fields), 4, arrays);
}

std::string ipcFile(const DataDirectory& dir, const std::string& name,
                    const arrow::RecordBatch& batch) {
    const auto options = arrow::ipc::IpcWriteOptions::Defaults();
    auto sink = *arrow::io::FileOutputStream::Open(dir.at(name));
    auto writer = name.ends_with(".arrows")
                      ? *arrow::ipc::MakeStreamWriter(sink, batch.schema(), options)
                      : *arrow::ipc::MakeFileWriter(sink, batch.schema(), options);
    EXPECT_TRUE(writer->WriteRecordBatch(batch).ok());
    EXPECT_TRUE(writer->Close().ok());
    EXPECT_TRUE(sink->Close().ok());
    return test::read(dir.at(name));
}

Result<std::vector<ArrayPtr>> readAll(const DataDirectory& dir, const std::string& name,
                                      arrow::MemoryPool* pool = nullptr) {
    files::ReadOptions options;
    options.format = "arrow";
    ASSIGN_OR_RETURN(const auto dataset, Dataset::open({name}, dir.path(), options,
                                                       std::make_shared<MetadataCache>(), 1));
    ASSIGN_OR_RETURN(const auto facts, dataset->facts(0));
    SplitReader reader(dataset, pool);
    std::vector<ArrayPtr> all;
    std::int64_t first = 0;
    for (std::size_t chunk = 0; chunk < facts->chunks.size(); ++chunk) {
        const SplitRange split{0, static_cast<std::int64_t>(chunk), first,
                               facts->chunks[chunk].rows};
        ASSIGN_OR_RETURN(const auto arrays, reader.readColumns(split, dataset->schema().names()));
        all.insert(all.end(), arrays.begin(), arrays.end());
        first += split.rows;
    }
    return all;
}

/// Reads every byte of the arrays, so that an address out of bounds crashes or is reported by the
/// sanitizer.
std::size_t bytesOf(const std::vector<ArrayPtr>& arrays) {
    std::size_t sum = 0;
    for (const ArrayPtr& array : arrays) {
        const auto copy = arrow::Concatenate({array, array});
        EXPECT_TRUE(copy.ok()) << copy.status();
        EXPECT_TRUE((*copy)->Validate().ok());
        if (array->type_id() == arrow::Type::STRING) {
            for (std::int64_t i = 0; i < array->length(); ++i) {
                for (const char c : static_cast<const arrow::StringArray&>(*array).GetView(i)) {
                    sum += static_cast<unsigned char>(c);
                }
            }
        }
    }
    return sum;
}

TEST(ArrowFiles, OnlyTheThreadThatReadsHoldsBuffersOfItsPool) {
    DataDirectory dir;
    ipcFile(dir, "a.arrow", *manyKinds(true));
    OwnThreadPool pool;
    {
        const auto read = readAll(dir, "a.arrow", &pool);
        ASSERT_TRUE(read.ok()) << read.status();
    }
    EXPECT_GT(pool.own(), 0);
    EXPECT_EQ(pool.others(), 0);
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(ArrowFiles, AnOffsetOutsideOfItsBufferIsNamed) {
    DataDirectory dir;
    std::vector<std::string> words(64, "abcd");
    const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("s", arrow::utf8())}),
                                                64, {texts(words)});
    for (const std::string name : {"a.arrow", "a.arrows"}) {
        const std::string whole = ipcFile(dir, name, *batch);
        const std::int32_t four[] = {40, 44, 48, 52};
        const std::size_t at =
            whole.find(std::string_view(reinterpret_cast<const char*>(four), sizeof four));
        ASSERT_NE(at, std::string::npos);
        for (const std::int32_t offset : {1 << 30, -5, 0, 300}) {
            std::string damaged = whole;
            std::memcpy(damaged.data() + at + 4, &offset, sizeof offset);
            test::write(dir.at(name), damaged);
            EXPECT_THAT(messageOf(readAll(dir, name).status()),
                        HasSubstr(name + ": record batch 0, s: corrupt: "));
        }
    }
}

TEST(ArrowFiles, AFlippedBitAnywhereGivesValuesOrASentence) {
    DataDirectory dir;
    for (const std::string name : {"a.arrow", "a.arrows"}) {
        const std::string whole = ipcFile(dir, name, *manyKinds(name == "a.arrow"));
        ASSERT_TRUE(readAll(dir, name).ok());
        int refused = 0;
        for (std::size_t at = 0; at < whole.size(); ++at) {
            for (const char flip : {static_cast<char>(1 << (at % 7)), '\x80'}) {
                std::string damaged = whole;
                damaged[at] = static_cast<char>(damaged[at] ^ flip);
                test::write(dir.at(name), damaged);
                const auto read = readAll(dir, name);
                if (read.ok()) {
                    bytesOf(*read);
                } else {
                    ++refused;
                    EXPECT_THAT(messageOf(read.status()), HasSubstr(name));
                }
            }
        }
        EXPECT_GT(refused, 100);
    }
}

}  // namespace
}  // namespace millrace::dataset
