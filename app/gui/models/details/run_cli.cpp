#include "app/gui/models/details/run_cli.h"

#include <QDir>
#include <QRegularExpression>
#include <QStringList>

#include "app/gui/models/run_text.h"
#include "backend/core/json.h"

namespace millrace::gui {
namespace {

Json resolvedOf(const values::RunDetail& run) {
    const Result<Json> json = parseJson(run.resolvedSpec, "resolved spec");
    return json.ok() && json->is_object() ? *json : Json::object();
}

}  // namespace

QString shellQuoted(const QString& word) {
    static const QRegularExpression kPlain(R"(^[A-Za-z0-9_@%+=:,./\-]+$)");
    if (kPlain.match(word).hasMatch()) {
        return word;
    }
    QString quoted = word;
    return '\'' + quoted.replace('\'', "'\\''") + '\'';
}

QString baseDirOf(const values::RunDetail& run) {
    return qtext(jsonString(resolvedOf(run), "base_dir"));
}

QString runCommandLine(const values::RunDetail& run) {
    const Json resolved = resolvedOf(run);
    const QString baseDir = qtext(jsonString(resolved, "base_dir"));
    const QString file = run.specFileName.empty() ? "spec.yaml" : qtext(run.specFileName);
    QStringList words = {"millrace", "run"};
    words.append(baseDir.isEmpty() || QDir::isAbsolutePath(file) ? file
                                                                 : QDir(baseDir).filePath(file));
    if (!run.summary.variation.empty()) {
        words << "--variation" << qtext(run.summary.variation);
    }
    for (const std::string& set : run.sets) {
        words << "--set" << qtext(set);
    }
    const std::string& project = run.summary.project;
    if (!project.empty() && project != jsonString(resolved, "project")) {
        words << "--project" << qtext(project);
    }
    const Json& specTags = jsonMember(resolved, "tags");
    for (const auto& [key, value] : run.summary.tags) {
        const bool isOfSpec =
            specTags.is_object() && jsonString(specTags, key) == value && specTags.contains(key);
        if (!isOfSpec) {
            words << "--tag" << qtext(key) + '=' + qtext(value);
        }
    }
    QStringList quoted;
    for (const QString& word : words) {
        quoted.append(shellQuoted(word));
    }
    return quoted.join(' ');
}

QString resumeCommandLine(const std::string& runId, std::int64_t step) {
    const QString line = "millrace resume " + shellQuoted(qtext(runId));
    return step > 0 ? line + " --step " + QString::number(step) : line;
}

}  // namespace millrace::gui
