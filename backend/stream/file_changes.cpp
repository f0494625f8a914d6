#include "backend/stream/file_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "backend/text/json.h"
#include "backend/text/json_slices.h"

namespace millrace::stream {
namespace {

Result<std::vector<FileIdentity>> filesIn(std::string_view plan, std::string_view member) {
    std::vector<FileIdentity> all;
    JsonElements files(jsonMemberText(plan, member).value_or(""));
    while (const std::optional<std::string_view> file = files.next()) {
        ASSIGN_OR_RETURN(const Json one,
                         parseJson(withJsonMember(*file, "splits", "[]"), "stored plan"));
        all.push_back({jsonString(one, "relative_path", jsonString(one, "path")),
                       jsonString(one, "footer_hash", jsonString(one, "hash")),
                       jsonInt(one, "bytes")});
    }
    return all;
}

using ByPath = std::map<std::string, std::pair<const FileIdentity*, const FileIdentity*>>;

ByPath paired(const std::vector<FileIdentity>& first, const std::vector<FileIdentity>& second) {
    ByPath files;
    for (const FileIdentity& file : first) {
        files[file.path].first = &file;
    }
    for (const FileIdentity& file : second) {
        files[file.path].second = &file;
    }
    return files;
}

void addChanges(const ByPath& files, std::vector<FileChange>& changes) {
    for (const auto& [path, sides] : files) {
        const auto& [before, after] = sides;
        if (before != nullptr && after != nullptr && before->hash == after->hash) {
            continue;
        }
        FileChange change{path, "", ""};
        if (before != nullptr) {
            change.hashOfFirst = before->hash;
            change.bytesOfFirst = before->bytes;
        }
        if (after != nullptr) {
            change.hash = after->hash;
            change.bytes = after->bytes;
        }
        changes.push_back(std::move(change));
    }
}

// Only tables of both: a table that one run alone joins follows from its spec.
ByPath commonTables(const PlanFiles& first, const PlanFiles& second) {
    ByPath tables = paired(first.sideTables, second.sideTables);
    std::erase_if(tables, [](const auto& table) {
        return table.second.first == nullptr || table.second.second == nullptr;
    });
    return tables;
}

}  // namespace

Result<PlanFiles> PlanFiles::parse(std::string_view planText) {
    if (!jsonMemberText(planText, "files")) {
        return invalidArgument("stored plan: has no files");
    }
    PlanFiles files;
    ASSIGN_OR_RETURN(files.train, filesIn(planText, "files"));
    ASSIGN_OR_RETURN(files.eval, filesIn(planText, "eval_files"));
    ASSIGN_OR_RETURN(files.sideTables, filesIn(planText, "side_tables"));
    return files;
}

FileChanges fileChanges(const PlanFiles& first, const PlanFiles& second) {
    FileChanges out;
    addChanges(commonTables(first, second), out.files);
    const bool areTablesOther = !out.files.empty();
    addChanges(paired(first.train, second.train), out.files);
    if (!first.eval.empty() || !second.eval.empty()) {
        addChanges(paired(first.ofEval(), second.ofEval()), out.files);
    }
    std::ranges::sort(out.files, {}, &FileChange::path);
    const auto [rest, end] = std::ranges::unique(out.files);
    out.files.erase(rest, end);
    out.isTrainOther = areTablesOther || first.train != second.train;
    const auto &before = first.ofEval(), &after = second.ofEval();
    out.isEvalContentOther = areTablesOther;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        out.isEvalContentOther = out.isEvalContentOther || before[i].hash != after[i].hash;
    }
    return out;
}

}  // namespace millrace::stream
