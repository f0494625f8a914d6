#pragma once
// Datasets of CSV files that a test has written, and access to their columns.
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::test {

inline files::ReadOptions csv() {
    files::ReadOptions options;
    options.format = "csv";
    return options;
}

using Opened = Result<std::shared_ptr<const dataset::Dataset>>;
using ArrayPtr = std::shared_ptr<arrow::Array>;

inline Opened openAt(const DataDirectory& dir, const files::ReadOptions& options,
                     const std::string& path = ".") {
    return dataset::Dataset::open({path}, dir.path(), options,
                                  std::make_shared<dataset::MetadataCache>(), 2);
}

inline std::string typeOf(const Opened& opened, const std::string& column) {
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? (*opened)->schema().find(column)->type.name() : "";
}

/// A column of the first file's first split.
inline ArrayPtr valuesOf(const Opened& opened, const std::string& column, std::uint32_t file = 0) {
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) {
        return ints({});
    }
    dataset::SplitReader reader(*opened);
    const auto facts = (*opened)->facts(file);
    const auto read = reader.readColumns({file, 0, 0, (*facts)->chunks.at(0).rows}, {column});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->at(0) : ints({});
}

}  // namespace millrace::test
