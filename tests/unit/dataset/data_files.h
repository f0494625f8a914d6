#pragma once
// Small data files in a temporary directory, for tests of dataset and recipe.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

namespace millrace::test {

inline std::shared_ptr<arrow::Array> ints(const std::vector<std::int64_t>& values,
                                          std::int64_t nullValue = INT64_MIN) {
    arrow::Int64Builder builder;
    for (const std::int64_t value : values) {
        EXPECT_TRUE((value == nullValue ? builder.AppendNull() : builder.Append(value)).ok());
    }
    return *builder.Finish();
}

inline std::shared_ptr<arrow::Array> reals(const std::vector<double>& values,
                                           double nullValue = -999) {
    arrow::DoubleBuilder builder;
    for (const double value : values) {
        EXPECT_TRUE((value == nullValue ? builder.AppendNull() : builder.Append(value)).ok());
    }
    return *builder.Finish();
}

inline std::shared_ptr<arrow::Array> texts(const std::vector<std::string>& values,
                                           const std::string& nullValue = "\x01") {
    arrow::StringBuilder builder;
    for (const std::string& value : values) {
        EXPECT_TRUE((value == nullValue ? builder.AppendNull() : builder.Append(value)).ok());
    }
    return *builder.Finish();
}

struct Column {
    std::string name;
    std::shared_ptr<arrow::Array> values;
};

/// A temporary directory, removed at the end.
class DataDirectory {
 public:
    DataDirectory() {
        std::string pattern = ::testing::TempDir() + "/millrace-XXXXXX";
        path_ = std::filesystem::path(::mkdtemp(pattern.data())).lexically_normal().string();
    }
    ~DataDirectory() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }
    std::string at(const std::string& name) const { return path_ + "/" + name; }

    std::string text(const std::string& name, const std::string& content) const {
        const std::filesystem::path file(at(name));
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << content;
        return file.string();
    }

    /// Writes a Parquet file. `pageRows`: rows per data page, roughly, with a page index; 0: the
    /// writer's default, without an index.
    std::string parquet(const std::string& name, const std::vector<Column>& columns,
                        std::int64_t rowGroupRows = 1000, std::int64_t pageRows = 0) const {
        const std::filesystem::path file(at(name));
        std::filesystem::create_directories(file.parent_path());
        arrow::FieldVector fields;
        arrow::ArrayVector arrays;
        for (const Column& column : columns) {
            fields.push_back(arrow::field(column.name, column.values->type()));
            arrays.push_back(column.values);
        }
        const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
        auto sink = *arrow::io::FileOutputStream::Open(file.string());
        const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
        parquet::WriterProperties::Builder pages;
        pages.disable_write_page_index();
        if (pageRows > 0) {
            // With pages below 8 bytes Arrow writes empty pages, which its reader cannot read.
            pages.data_pagesize(8)->write_batch_size(pageRows)->enable_write_page_index();
            pages.disable_dictionary();
        }
        EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                               rowGroupRows, pages.build(), properties)
                        .ok());
        EXPECT_TRUE(sink->Close().ok());
        return file.string();
    }

 private:
    std::string path_;
};

inline std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace millrace::test
