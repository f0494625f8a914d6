#pragma once
// `millrace-loader inspect`, run as a child of this process or on a host that ssh reaches: how
// check, dataset and sample ask without a daemon. Threads: one. Failure: a program that is missing,
// too slow or crashes is one sentence.
#include <atomic>
#include <string>
#include <vector>

#include "app/cli/frame/command.h"
#include "backend/system/subprocess.h"
#include "backend/values/submit.h"

namespace millrace::cli {

/// One question, one answer (daemon/worker/loader/questions/inspect.h says which there are). Where
/// the daemon is behind ssh, of the loader there: its paths are then that host's, relative ones
/// begin at the named host's remote_dir or the home. kCancelled when this process was interrupted
/// meanwhile; the child has ended then.
Result<Json> askLoader(const CliContext& context, Json question);

/// What a role of the loader printed. Its progress and errors went to this process's stderr.
struct RoleAnswer {
    int exitCode = 0;  ///< of this program: an input error is kExitFailed
    Json document;     ///< null when there is none
};

/// Runs `millrace-loader ARGUMENTS...`, which prints one JSON document. Ctrl-C is handed on.
Result<RoleAnswer> runLoaderRole(const CliContext& context,
                                 const std::vector<std::string>& arguments);

/// The child's exit code; a signal that this process gets is handed on (a terminal's Ctrl-C reaches
/// both by itself).
int waitForwarding(Subprocess& child, const std::atomic<int>& interrupts);

/// A worker tells input errors (4) and others (5) apart for the daemon; here both have failed.
int exitCodeOfLoader(int code);

/// A spec's file as the members that questions share: text, file_name, base_dir, sets.
Result<Json> specQuestion(const ParsedArgs& args, const std::string& op);

/// The options --format, --delimiter and --csv as arguments of the loader.
/// Failure: a delimiter that is not one character.
Result<std::vector<std::string>> readingArguments(const ParsedArgs& args);

/// A question about the files of args.words: path, base_dir, format, csv. As above.
Result<Json> datasetQuestion(const ParsedArgs& args, const std::string& op);
/// Its answer; what is worth to know of how the files were read is printed as notes. Failure: the
/// first thing that is wrong with them.
Result<Json> askDataset(CliContext& context, Json question);

/// The errors or warnings of an answer.
std::vector<values::SpecError> loaderErrors(const Json& list);

std::string currentDirectory();

}  // namespace millrace::cli
