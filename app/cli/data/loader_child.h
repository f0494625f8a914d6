#pragma once
// Runs `millrace-loader inspect` as a child of this process, or on a host that ssh reaches: check,
// dataset and sample use it to work without a daemon. Threads: one. Failure: a missing, slow or
// crashed program is one sentence.
#include <atomic>
#include <string>
#include <vector>

#include "app/cli/frame/command.h"
#include "backend/system/subprocess.h"
#include "backend/values/submit.h"

namespace millrace::cli {

/// Sends one question and returns its answer (daemon/worker/loader/questions/inspect.h lists the
/// questions). If the daemon is behind ssh, asks the loader there: paths are then that host's, and
/// relative ones begin at the named host's remote_dir or the home. kCancelled if this process was
/// interrupted meanwhile; the child has ended then.
Result<Json> askLoader(const CliContext& context, Json question);

/// The output of a role of the loader. Its progress and errors went to this process's stderr.
struct RoleAnswer {
    int exitCode = 0;  ///< this program's: an input error is kExitFailed
    Json document;     ///< null if there is none
};

/// Runs `millrace-loader ARGUMENTS...`, which prints one JSON document. Forwards Ctrl-C.
Result<RoleAnswer> runLoaderRole(const CliContext& context,
                                 const std::vector<std::string>& arguments);

/// Returns the child's exit code. Forwards signals that this process gets (a terminal's Ctrl-C
/// reaches both by itself).
int waitForwarding(Subprocess& child, const std::atomic<int>& interrupts);

/// For the daemon, a worker distinguishes input errors (4) from others (5); here both mean failure.
int exitCodeOfLoader(int code);

/// A spec's file as the members that all questions share: text, file_name, base_dir, sets.
Result<Json> specQuestion(const ParsedArgs& args, const std::string& op);

/// The options --format, --delimiter and --csv as arguments of the loader.
/// Failure: a delimiter that is not one character.
Result<std::vector<std::string>> readingArguments(const ParsedArgs& args);

/// A question about the files of args.words: path, base_dir, format, csv. As above.
Result<Json> datasetQuestion(const ParsedArgs& args, const std::string& op);
/// The answer to such a question; prints notes on how the files were read. Failure: the first error
/// in the files.
Result<Json> askDataset(CliContext& context, Json question);

/// The errors or warnings of an answer.
std::vector<values::SpecError> loaderErrors(const Json& list);

std::string currentDirectory();

}  // namespace millrace::cli
