#pragma once
// The command lines that do what was done in the window.
//
// Threads: any.
#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

/// As a POSIX shell reads it: quoted only where it must be.
QString shellQuoted(const QString& word);
/// The words as one line, quoted where they hold a separator, a quote or nothing.
QString quotedList(const std::vector<std::string>& words, QChar separator);
/// The line's words again: parts between separators, quotes as a POSIX shell reads them. Nothing
/// where a quote is not closed.
std::optional<std::vector<std::string>> splitQuoted(const QString& line, QChar separator);
/// Absolute, of the spec's relative paths; "" where the resolved spec does not tell.
QString baseDirOf(const values::RunDetail& run);
/// "millrace run /data/movielens.yaml --variation keep-30 --set train.ranks=2": the same run again.
QString runCommandLine(const values::RunDetail& run);
/// "millrace resume r-abc23 --step 300"; step 0: the last checkpoint.
QString resumeCommandLine(const std::string& runId, std::int64_t step);

}  // namespace millrace::gui
