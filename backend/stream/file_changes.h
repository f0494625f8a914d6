#pragma once
// Compares the files of two stored plans, so that two runs are not taken for runs on the same rows
// when a file between them was rewritten. Used by the daemon to answer Inspect.Pair.
//
// Reads the plans' texts file by file: as trees, plans of very many files would take twenty times
// their size. Pure. Threads: any. Failure: kInvalidArgument for a text that is not a plan.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::stream {

struct FileIdentity {
    std::string path;  ///< as in receipts; the path of a side table
    std::string hash;  ///< of the footer or the content
    std::int64_t bytes = 0;
    bool operator==(const FileIdentity&) const = default;
};

/// The files of a plan, without their splits.
struct PlanFiles {
    std::vector<FileIdentity> train;
    std::vector<FileIdentity> eval;  ///< empty: evaluation reads `train`
    std::vector<FileIdentity> sideTables;

    static Result<PlanFiles> parse(std::string_view planText);
    const std::vector<FileIdentity>& ofEval() const { return eval.empty() ? train : eval; }
};

/// A file that is not the same in both plans. A hash is "" if that plan does not have the file.
struct FileChange {
    std::string path, hashOfFirst, hash;
    std::int64_t bytesOfFirst = 0, bytes = 0;
    bool operator==(const FileChange&) const = default;
};

struct FileChanges {
    std::vector<FileChange> files;  ///< by path
    /// Files at the same position of both evaluations differ in content, or side tables of both do.
    /// Equal evaluation hashes then do not mean equal rows. Files after the last common position do
    /// not count: their rows change the evaluation hash.
    bool isEvalContentOther = false;
    /// Training files differ in name, order or content, or side tables of both in content.
    bool isTrainOther = false;
};

FileChanges fileChanges(const PlanFiles& first, const PlanFiles& second);

}  // namespace millrace::stream
