#pragma once
// The types of a dataset's columns as its files have them, where the pinned ones say less: decimals
// with their digits, times with their zone, binaries.
//
// What is read is pinned (arrow_bridge.h); a table that is written should have the types that the
// dataset had. Where files differ, the type holds the values of all of them: decimals get the
// larger number of digits on both sides of the point, times in several zones are in UTC, binaries
// beside texts are texts. Times of CSV files are in UTC where they are written with a zone.
// Threads: pure. Failure: as Dataset::facts(), for a file that cannot be opened.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace millrace::dataset {

using TypePtr = std::shared_ptr<arrow::DataType>;

/// Of the named columns of the dataset's schema; reads footers only where a column needs them.
Result<std::map<std::string, TypePtr>> storedTypes(const Dataset& dataset,
                                                   const std::vector<std::string>& columns);

/// A column of the pinned type, or decimals as texts, in a type that storedTypes() gave for it.
Result<std::shared_ptr<arrow::Array>> asStored(const std::shared_ptr<arrow::Array>& array,
                                               const TypePtr& type, std::string_view place);

}  // namespace millrace::dataset
