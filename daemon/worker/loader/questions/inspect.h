#pragma once
// `millrace-loader inspect`: one question about a spec or a dataset, one answer, both JSON.
//
// The only process in which user files are parsed on behalf of the daemon. Requests:
//   {"op": "resolve", "text", "file_name", "base_dir", "variations": [..] or "all", "sets": [..]}
//   {"op": "check", as resolve}        what is wrong and where, without the plans
//   {"op": "dataset", "path": text or [..], "base_dir", "format", "csv": ["KEY=VALUE"],
//      "files_max"}, or instead of the path a spec: "text", "file_name", "sets"
//   {"op": "head", as dataset but "rows"}   its first rows
//   {"op": "steps", as resolve but "variation", "rows", "split", "first_row"}
//   {"op": "preview", as resolve but "variation", "seconds", "threads"}
//   {"op": "pair", "runs": [{"id", "directory"}]}   the first one's scores beside each other's
// A run in the answer to resolve has its plan, or the number of an earlier run with the same plan.
// Answers: {"ok": true, ...} or {"ok": false, "errors": [{message, line, column, path, code}]}.
// Answers to check, dataset, steps, preview and pair are the JSON form of the responses of
// proto/millrace/v1/inspect.proto, and contain what is known even if there are errors.
#include <string>
#include <string_view>

namespace millrace::loader {

/// Returns the answer to a request, one line. Never fails: errors are in the answer.
std::string answer(std::string_view request);

/// The role: reads stdin to its end, writes the answer to stdout. The process's exit code.
int runInspect();

}  // namespace millrace::loader
