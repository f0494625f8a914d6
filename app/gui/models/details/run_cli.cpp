#include "app/gui/models/details/run_cli.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "backend/text/json.h"

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

namespace {

bool isBetween(QChar at, QChar separator) {
    return at == separator || (separator == QLatin1Char(' ') && at.isSpace());
}

}  // namespace

QString quotedList(const std::vector<std::string>& words, QChar separator) {
    QStringList quoted;
    for (const std::string& word : words) {
        QString text = qtext(word);
        const bool isPlain =
            !text.isEmpty() && text == text.trimmed() &&
            std::ranges::none_of(text, [separator](QChar at) {
                return isBetween(at, separator) || QStringView(u"'\"\\").contains(at);
            });
        quoted.append(isPlain ? text
                              : QLatin1Char('\'') +
                                    text.replace(QLatin1Char('\''), QLatin1String("'\\''")) +
                                    QLatin1Char('\''));
    }
    return quoted.join(separator == QLatin1Char(' ') ? QString(separator)
                                                     : QString(separator) + QLatin1Char(' '));
}

std::optional<std::vector<std::string>> splitQuoted(const QString& line, QChar separator) {
    std::vector<std::string> words;
    QString word;
    bool isQuoted = false;  // the word has quotes: it counts even if it is empty
    qsizetype numKept = 0;  // length of the word without trailing unquoted blanks
    QChar quote;
    const auto end = [&] {
        word.truncate(numKept);
        if (isQuoted || !word.isEmpty()) {
            words.push_back(word.toStdString());
        }
        word.clear();
        isQuoted = false;
        numKept = 0;
    };
    for (qsizetype i = 0; i < line.size(); ++i) {
        const QChar at = line[i];
        if (quote.isNull() && isBetween(at, separator)) {
            end();
        } else if (quote.isNull() && (at == QLatin1Char('\'') || at == QLatin1Char('"'))) {
            quote = at;
            isQuoted = true;
        } else if (at == quote) {
            quote = QChar();
        } else if (at == QLatin1Char('\\') && quote != QLatin1Char('\'') && i + 1 < line.size()) {
            word += line[++i];
            numKept = word.size();
        } else if (quote.isNull() && at.isSpace() && word.isEmpty() && !isQuoted) {
            continue;
        } else {
            word += at;
            numKept = quote.isNull() && at.isSpace() ? numKept : word.size();
        }
    }
    if (!quote.isNull()) {
        return std::nullopt;
    }
    end();
    return words;
}

QString baseDirOf(const values::RunDetail& run) {
    return qtext(jsonString(resolvedOf(run), "base_dir"));
}

QString runCommandLine(const values::RunDetail& run) {
    const Json resolved = resolvedOf(run);
    const QString baseDir = qtext(jsonString(resolved, "base_dir"));
    // The base directory is the spec's own, even if the name was relative to another one.
    const QString file = run.specFileName.empty() ? "spec.yaml" : qtext(run.specFileName);
    QStringList words = {"millrace", "run"};
    words.append(baseDir.isEmpty() ? file : QDir(baseDir).filePath(QFileInfo(file).fileName()));
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
