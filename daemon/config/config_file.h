#pragma once
// The file with which a daemon is configured once: STATE/millraced.yaml, or --config FILE.
//
// Its keys are options of the command line without the dashes ("nodes_listen"), where what is on
// the command line comes first, and `clients`, which no option has. Pure. Failure:
// kInvalidArgument with the places of what is wrong.
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
