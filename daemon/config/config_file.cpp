#include "daemon/config/config_file.h"

#include <algorithm>
#include <vector>

#include "backend/core/text.h"
#include "backend/spec/settings/settings_file.h"

namespace millrace::config {
namespace {

/// Paths and doors are told to each start: they are the place where the file is looked for.
const std::vector<std::string>& keys() {
    static const std::vector<std::string> kKeys = {
        "hosts",     "nodes_listen", "node_away",        "silent_after",
        "crew_pace", "here.train",   "keep_deleted_days"};
    return kKeys;
}

/// Of --no-train-here, a flag.
constexpr std::string_view kTrainHere = "here.train";

std::string optionOf(std::string key) {
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
}

}  // namespace

Result<std::map<std::string, std::string>> readConfigFile(std::string_view text,
                                                          std::string_view fileName) {
    ASSIGN_OR_RETURN(const auto settings, spec::readSettings(text, fileName));
    std::map<std::string, std::string> options;
    for (const spec::Setting& setting : settings) {
        if (std::find(keys().begin(), keys().end(), setting.name) == keys().end()) {
            return invalidArgument(setting.place, ": unknown key '", setting.name, "'",
                                   nameHint(setting.name, keys()));
        }
        if (setting.name != "hosts" && setting.values.size() != 1) {
            return invalidArgument(setting.place, ": '", setting.name, "': one value is wanted");
        }
        if (setting.name == kTrainHere) {
            if (setting.values.front() != "true" && setting.values.front() != "false") {
                return invalidArgument(setting.place,
                                       ": here.train: true or false is wanted, not '",
                                       setting.values.front(), "'");
            }
            options["--no-train-here"] = setting.values.front() == "false" ? "true" : "";
            continue;
        }
        std::string joined;
        for (const std::string& value : setting.values) {
            strAppend(&joined, joined.empty() ? "" : ",", value);
        }
        options[optionOf(setting.name)] = joined;
    }
    return options;
}

}  // namespace millrace::config
