#pragma once
// `millrace-loader inspect`, run as a child of this process: how check, dataset and sample ask
// without a daemon. Threads: one. Failure: a program that is missing, too slow or crashes is one
// sentence.
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/client/spec_error.h"

namespace millrace::cli {

/// One question, one answer (daemon/worker/loader_inspect.h says which there are).
Result<Json> askLoader(const CliContext& context, const Json& question);

/// A spec's file as the members that questions share: text, file_name, base_dir, sets.
Result<Json> specQuestion(const ParsedArgs& args, const std::string& op);

/// The errors or warnings of an answer.
std::vector<client::SpecError> loaderErrors(const Json& list);

std::string currentDirectory();

}  // namespace millrace::cli
