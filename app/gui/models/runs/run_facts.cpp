#include "app/gui/models/runs/run_facts.h"

#include <cmath>

#include "app/gui/models/run_text.h"
#include "backend/core/json.h"

namespace millrace::gui {
namespace {

using Facts = std::vector<RunFact>;

void add(Facts& facts, const QString& section, const QString& name, const QString& value,
         const QString& tip = {}) {
    if (!value.isEmpty()) {
        facts.push_back({section, name, value, tip});
    }
}

QString rowsText(std::int64_t rows) {
    return countText(static_cast<double>(rows));
}

void addGit(Facts& facts, const client::GitFacts& git) {
    if (git.commit.empty()) {
        add(facts, "Git", "Commit", "not in a repository");
        return;
    }
    add(facts, "Git", "Commit", shortHash(git.commit), qtext(git.commit));
    add(facts, "Git", "Branch", git.branch.empty() ? "detached" : qtext(git.branch));
    add(facts, "Git", "Working tree", git.isDirty ? "with uncommitted changes" : "clean");
    add(facts, "Git", "Remote", qtext(git.remote));
}

void addHardware(Facts& facts, const std::string& text) {
    const Result<Json> hardware = parseJson(text, "hardware");
    if (!hardware.ok() || !hardware->is_object()) {
        return;
    }
    add(facts, "Hardware", "CPU", qtext(jsonString(*hardware, "cpu")));
    const std::int64_t cores = jsonInt(*hardware, "cores");
    add(facts, "Hardware", "Cores", cores > 0 ? QString::number(cores) : QString());
    const double memory = jsonReal(*hardware, "memory_bytes");
    add(facts, "Hardware", "Memory", memory > 0 ? bytesText(memory) : QString());
    const Json& gpus = jsonMember(*hardware, "gpus");
    if (gpus.is_array() && gpus.empty()) {
        add(facts, "Hardware", "GPUs", "no GPU");
    }
    for (std::size_t i = 0; gpus.is_array() && i < gpus.size(); ++i) {
        const QString name = gpus[i].is_string() ? qtext(gpus[i].get<std::string>())
                                                 : qtext(jsonString(gpus[i], "name"));
        add(facts, "Hardware", QString("GPU %1").arg(i), name);
    }
    add(facts, "Hardware", "System", qtext(jsonString(*hardware, "os")));
    add(facts, "Hardware", "Kernel", qtext(jsonString(*hardware, "kernel")));
}

void addHash(Facts& facts, const QString& name, const std::string& hash) {
    add(facts, "Identity", name, shortHash(hash), qtext(hash));
}

}  // namespace

Facts environmentFacts(const client::RunDetail& run) {
    Facts facts;
    addGit(facts, run.git);
    for (const auto& [name, version] : run.packages) {
        add(facts, "Packages", qtext(name), qtext(version));
    }
    addHardware(facts, run.hardware);
    add(facts, "Place", "Host", qtext(run.summary.host));
    add(facts, "Place", "Directory", qtext(run.directory));
    for (const client::WorkerInfo& worker : run.workers) {
        QString text = qtext(worker.state);
        text += worker.state == "ended" ? QString(", exit code %1").arg(worker.exitCode)
                : worker.pid > 0        ? QString(", pid %1").arg(worker.pid)
                                        : QString();
        add(facts, "Workers", qtext(worker.name), text);
    }
    return facts;
}

Facts receiptFacts(const client::RunDetail& run) {
    Facts facts;
    if (!run.receipt) {
        return facts;
    }
    const client::Receipt& receipt = *run.receipt;
    add(facts, "Rows", "Scanned", rowsText(receipt.rowsScanned));
    add(facts, "Rows", "Skipped by statistics", rowsText(receipt.rowsPruned));
    add(facts, "Rows", "Kept by the recipe", rowsText(receipt.rowsKept));
    add(facts, "Rows", "Trained, all epochs", rowsText(receipt.rowsTrained));
    for (const client::StepReceipt& step : receipt.steps) {
        add(facts, "Steps", qtext(step.step),
            QString("%1 of %2").arg(rowsText(step.rowsOut), rowsText(step.rowsIn)));
        for (const client::StepReason& reason : step.reasons) {
            add(facts, "Steps", QString("%1: %2").arg(qtext(step.step), qtext(reason.name)),
                rowsText(reason.rows));
        }
    }
    for (const client::VocabularyReceipt& one : receipt.vocabularies) {
        add(facts, "Unknown ids", qtext(one.feature),
            QString("%1 of %2 (%3 %)")
                .arg(rowsText(one.unknown), rowsText(one.ids),
                     QString::number(one.unknownPercent(), 'f', 1)));
    }
    double bytes = 0;
    for (const client::FileReceipt& file : receipt.files) {
        bytes += static_cast<double>(file.bytes);
    }
    const bool areAllHere = receipt.numFiles() == static_cast<std::int64_t>(receipt.files.size());
    add(facts, "Files", "Number", rowsText(receipt.numFiles()));
    add(facts, "Files", "Size", bytesText(areAllHere ? bytes : static_cast<double>(run.planBytes)));
    for (const client::FileReceipt& table : receipt.sideTables) {
        add(facts, "Files", "Table " + qtext(table.path), rowsText(table.rows) + " rows",
            "Content " + qtext(table.footerHash));
    }
    addHash(facts, "Order of training rows", receipt.orderHash);
    addHash(facts, "Order of evaluation rows", receipt.evalOrderHash);
    addHash(facts, "Plan", receipt.planHash);
    return facts;
}

Facts specFacts(const client::RunDetail& run) {
    Facts facts;
    for (const auto& [name, value] : run.params) {
        const QString key = qtext(name);
        add(facts, key.section('.', 0, 0), key, qtext(value), qtext(value));
    }
    return facts;
}

}  // namespace millrace::gui
