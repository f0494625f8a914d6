#pragma once
// The types of a dataset's columns in its files, for columns whose pinned types are less precise:
// decimals with their digits, times with their zone, binaries.
//
// Readers pin types (arrow_bridge.h), but a table that is written should have the dataset's own
// types. If files differ, the type holds the values of all of them. Decimals get the larger number
// of digits on both sides of the point, times in several zones become UTC, and binaries mixed with
// texts become texts. Times of CSV files are in UTC if they are written with a zone.
// Threads: pure. Failure: as in Dataset::facts(), for a file that cannot be opened.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"

namespace millrace::dataset {

using TypePtr = std::shared_ptr<arrow::DataType>;

/// Types of the named columns of the dataset's schema; reads footers only for columns that need it.
Result<std::map<std::string, TypePtr>> storedTypes(const Dataset& dataset,
                                                   const std::vector<std::string>& columns);

/// Converts a column of the pinned type, or decimals as texts, to its type from storedTypes().
Result<std::shared_ptr<arrow::Array>> asStored(const std::shared_ptr<arrow::Array>& array,
                                               const TypePtr& type, std::string_view place);

}  // namespace millrace::dataset
