#pragma once
// The file with which a daemon is configured once: STATE/millraced.yaml, or --config FILE.
//
// Its keys are options of the command line without the dashes ("nodes_listen"); what stands on the
// command line comes first. Pure. Failure: kInvalidArgument with the places of what is wrong.
#include <map>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::config {

/// What the file says, by option: {"--nodes-listen": "gpu1", "--hosts": "cpu1,cpu2"}.
Result<std::map<std::string, std::string>> readConfigFile(std::string_view text,
                                                          std::string_view fileName);

}  // namespace millrace::config
