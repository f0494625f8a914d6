#pragma once
// Reads the configuration file of a daemon: STATE/millraced.yaml, or --config FILE. Used by
// daemon_config.cpp.
//
// Its keys are command line options without the dashes ("nodes_listen"); an option on the command
// line overrides its key. In addition it has `clients`, which is not an option. Pure. Failure:
// kInvalidArgument with the place of each mistake.
#include <map>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "daemon/config/client_roles.h"

namespace millrace::config {

struct ConfigFile {
    /// By option: {"--nodes-listen": "gpu1", "--hosts": "cpu1,cpu2"}.
    std::map<std::string, std::string> options;
    ClientRoles clients;
};

Result<ConfigFile> readConfigFile(std::string_view text, std::string_view fileName);

}  // namespace millrace::config
