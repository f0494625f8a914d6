#include "backend/spec/settings/settings_file.h"

#include "backend/spec/spec_reader.h"
#include "backend/spec/yaml/yaml_tree.h"

namespace millrace::spec {
namespace {

SpecError wrong(const YamlNode& node, const std::string& name, std::string_view wanted) {
    return {node.position.line, node.position.column,
            strCat("'", name, "': ", wanted, " is wanted, not ", node.describe()), name, "type"};
}

void readValues(const YamlNode& node, Setting& setting, SpecErrors& errors) {
    if (node.isScalar()) {
        setting.values.push_back(node.text);
        return;
    }
    if (!node.isSequence()) {
        errors.push_back(wrong(node, setting.name, "a text or a list"));
        return;
    }
    for (const YamlNode& item : node.items) {
        if (item.isScalar()) {
            setting.values.push_back(item.text);
        } else {
            errors.push_back(wrong(item, setting.name, "a list of texts"));
        }
    }
}

void readMap(const YamlNode& map, const std::string& prefix, std::string_view fileName,
             std::vector<Setting>& settings, SpecErrors& errors) {
    for (const YamlNode::Member& member : map.members) {
        if (prefix.empty() && member.value.isMap()) {
            readMap(member.value, member.key + ".", fileName, settings, errors);
            continue;
        }
        Setting setting{
            prefix + member.key,
            {},
            strCat(fileName, ":", member.keyPosition.line, ":", member.keyPosition.column)};
        readValues(member.value, setting, errors);
        settings.push_back(std::move(setting));
    }
}

}  // namespace

Result<std::vector<Setting>> readSettings(std::string_view text, std::string_view fileName) {
    SpecErrors errors;
    std::vector<Setting> settings;
    const std::optional<YamlNode> root = parseYaml(text, false, errors);
    if (root.has_value() && !root->isMap() && !root->isNull()) {
        errors.push_back({root->position.line, root->position.column,
                          strCat("a map of settings is wanted, not ", root->describe()), "",
                          "type"});
    } else if (root.has_value()) {
        readMap(*root, "", fileName, settings, errors);
    }
    if (!errors.empty()) {
        return toStatus(errors, fileName);
    }
    return settings;
}

}  // namespace millrace::spec
