#pragma once
// What a run really read, as the daemon tells it: files, rows by step, unknown ids, hashes.
//
// Plain values, like those of daemon_values.h. Receipts of older versions have neither reasons nor
// vocabularies.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::client {

struct FileReceipt {
    std::string path, footerHash;
    std::uint64_t bytes = 0;
    std::int64_t rows = 0;
};
struct StepReason {
    std::string name;
    std::int64_t rows = 0;
};
struct StepReceipt {
    std::string step;
    std::int64_t rowsIn = 0, rowsOut = 0;
    std::vector<StepReason> reasons{};  ///< by name; none with 0 rows
};
struct VocabularyReceipt {
    std::string feature;
    std::int64_t ids = 0, unknown = 0;  ///< unknown: of the ids
    /// Of the ids; 0 without any.
    double unknownPercent() const {
        return ids > 0 ? 100.0 * static_cast<double>(unknown) / static_cast<double>(ids) : 0;
    }
};
struct Receipt {
    std::vector<FileReceipt> files, sideTables;  ///< of many files the first 1,000
    std::int64_t filesTotal = 0;                 ///< 0: `files` are all
    std::vector<StepReceipt> steps;
    std::vector<VocabularyReceipt> vocabularies;  ///< by feature
    std::string orderHash, evalOrderHash, planHash;
    std::string json;  ///< the receipt as stored, with the files of `files`
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsTrained = 0;

    std::int64_t numFiles() const {
        return std::max(filesTotal, static_cast<std::int64_t>(files.size()));
    }
};

}  // namespace millrace::client
