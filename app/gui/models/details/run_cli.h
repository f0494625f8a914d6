#pragma once
// Builds the command lines that repeat the window's actions, for copying.
//
// Threads: any.
#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

/// Quoted for a POSIX shell, only if it must be.
QString shellQuoted(const QString& word);
/// The words as one line; quotes words that are empty or contain a separator or a quote.
QString quotedList(const std::vector<std::string>& words, QChar separator);
/// Splits such a line into its words: parts between separators, quotes as in a POSIX shell. Returns
/// nothing if a quote is not closed.
std::optional<std::vector<std::string>> splitQuoted(const QString& line, QChar separator);
/// The absolute base of the spec's relative paths; "" if the resolved spec does not contain it.
QString baseDirOf(const values::RunDetail& run);
/// Repeats the run: "millrace run /data/movielens.yaml --variation keep-30 --set train.ranks=2".
QString runCommandLine(const values::RunDetail& run);
/// "millrace resume r-abc23 --step 300"; step 0: the last checkpoint.
QString resumeCommandLine(const std::string& runId, std::int64_t step);

}  // namespace millrace::gui
