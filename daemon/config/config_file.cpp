#include "daemon/config/config_file.h"

#include <algorithm>
#include <vector>

#include <absl/strings/str_join.h>

#include "backend/spec/settings/settings_file.h"
#include "backend/text/text.h"

namespace millrace::config {
namespace {

/// Options for paths and for the daemon's own address are not keys: each start is given them,
/// because they determine where this file is.
const std::vector<std::string>& keys() {
    static const std::vector<std::string> kKeys = {
        "hosts",     "nodes_listen", "nodes_address",     "node_away",  "silent_after",
        "crew_pace", "here.train",   "keep_deleted_days", "checkpoints"};
    return kKeys;
}

/// The key for --no-train-here, a flag.
constexpr std::string_view kTrainHere = "here.train";
/// Prefix of a certificate's name.
constexpr std::string_view kClients = "clients.";

std::string optionOf(std::string key) {
    std::ranges::replace(key, '_', '-');
    return "--" + key;
}

Status unknownKey(const spec::Setting& setting) {
    std::vector<std::string> known = keys();
    known.emplace_back("clients");
    if (setting.name == "clients") {
        return invalidArgument(setting.place,
                               ": 'clients': a map of certificates' names to roles is wanted: "
                               "clients: {alice: admin, \"ci-*\": run}");
    }
    return invalidArgument(setting.place, ": unknown key '", setting.name, "'",
                           nameHint(setting.name, known));
}

Status addClient(const spec::Setting& setting, ClientRoles& clients) {
    constexpr std::size_t kMostBytes = 200;
    const std::string name = setting.name.substr(kClients.size());
    if (name.empty() || name.size() > kMostBytes) {
        return invalidArgument(setting.place, ": clients: a certificate's name has 1 to ",
                               kMostBytes, " bytes");
    }
    if (setting.values.size() != 1) {
        return invalidArgument(setting.place, ": clients: '", name, "': one role is wanted");
    }
    const std::string& text = setting.values.front();
    const auto role = roleNamed(text);
    if (!role.has_value()) {
        return invalidArgument(setting.place, ": clients: '", name, "': unknown role '", text, "'",
                               nameHint(text, roleNames()), "; view, run or admin is wanted");
    }
    clients.add(name, *role);
    return okStatus();
}

Status addTrainHere(const spec::Setting& setting, std::map<std::string, std::string>& options) {
    const std::string& text = setting.values.front();
    if (text != "true" && text != "false") {
        return invalidArgument(setting.place, ": here.train: true or false is wanted, not '", text,
                               "'");
    }
    options["--no-train-here"] = text == "false" ? "true" : "";
    return okStatus();
}

}  // namespace

Result<ConfigFile> readConfigFile(std::string_view text, std::string_view fileName) {
    ASSIGN_OR_RETURN(const auto settings, spec::readSettings(text, fileName));
    ConfigFile file;
    for (const spec::Setting& setting : settings) {
        if (setting.name.starts_with(kClients)) {
            RETURN_IF_ERROR(addClient(setting, file.clients));
            continue;
        }
        if (std::find(keys().begin(), keys().end(), setting.name) == keys().end()) {
            return unknownKey(setting);
        }
        if (setting.name != "hosts" && setting.values.size() != 1) {
            return invalidArgument(setting.place, ": '", setting.name, "': one value is wanted");
        }
        if (setting.name == kTrainHere) {
            RETURN_IF_ERROR(addTrainHere(setting, file.options));
            continue;
        }
        file.options[optionOf(setting.name)] = absl::StrJoin(setting.values, ",");
    }
    return file;
}

}  // namespace millrace::config
