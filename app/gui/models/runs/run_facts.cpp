#include "app/gui/models/runs/run_facts.h"

#include <QObject>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/session/figures.h"
#include "app/session/run_progress.h"
#include "backend/text/json.h"

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

void addGit(Facts& facts, const values::GitInfo& git) {
    if (git.commit.empty()) {
        add(facts, QObject::tr("Git"), QObject::tr("Commit"), QObject::tr("not in a repository"));
        return;
    }
    add(facts, QObject::tr("Git"), QObject::tr("Commit"), shortHash(git.commit), qtext(git.commit));
    add(facts, QObject::tr("Git"), QObject::tr("Branch"),
        git.branch.empty() ? QObject::tr("detached") : qtext(git.branch));
    add(facts, QObject::tr("Git"), QObject::tr("Working tree"),
        git.isDirty ? QObject::tr("with uncommitted changes") : QObject::tr("clean"));
    add(facts, QObject::tr("Git"), QObject::tr("Remote"), qtext(git.remote));
}

void addHardware(Facts& facts, const std::string& text) {
    const Result<Json> hardware = parseJson(text, "hardware");
    if (!hardware.ok() || !hardware->is_object()) {
        return;
    }
    add(facts, QObject::tr("Hardware"), titleOf(word::kCpu), qtext(jsonString(*hardware, "cpu")));
    const std::int64_t cores = jsonInt(*hardware, "cores");
    add(facts, QObject::tr("Hardware"), titleOf(word::kCores),
        cores > 0 ? QString::number(cores) : QString());
    const double memory = jsonReal(*hardware, "memory_bytes");
    add(facts, QObject::tr("Hardware"), titleOf(word::kMemory),
        memory > 0 ? bytesText(memory) : QString());
    const Json& gpus = jsonMember(*hardware, "gpus");
    if (gpus.is_array() && gpus.empty()) {
        add(facts, QObject::tr("Hardware"), QObject::tr("GPUs"), QObject::tr("no GPU"));
    }
    for (std::size_t i = 0; gpus.is_array() && i < gpus.size(); ++i) {
        const QString name = gpus[i].is_string() ? qtext(gpus[i].get<std::string>())
                                                 : qtext(jsonString(gpus[i], "name"));
        add(facts, QObject::tr("Hardware"), QObject::tr("GPU %1").arg(i), name);
    }
    add(facts, QObject::tr("Hardware"), QObject::tr("System"), qtext(jsonString(*hardware, "os")));
    add(facts, QObject::tr("Hardware"), QObject::tr("Kernel"),
        qtext(jsonString(*hardware, "kernel")));
}

// "sends 12 MB/s: 120 MB, 400 MB in memory"; empty for a node that has sent or received nothing.
QString flowText(const QString& does, const values::FrameFlow& flow) {
    return flow.rawBytes == 0 ? QString()
                              : QObject::tr("%1 %2: %3, %4 in memory")
                                    .arg(does, qtext(session::rateText(flow.bytesPerSecond)),
                                         bytesText(static_cast<double>(flow.bytes)),
                                         bytesText(static_cast<double>(flow.rawBytes)));
}

void addHash(Facts& facts, const QString& name, const std::string& hash) {
    add(facts, QObject::tr("Identity"), name, shortHash(hash), qtext(hash));
}

}  // namespace

Facts runFacts(const values::RunDetail& run) {
    Facts facts;
    const values::RunSummary& summary = run.summary;
    const QString section = QObject::tr("Run");
    add(facts, section, QObject::tr("Id"), qtext(summary.id), qtext(summary.uid));
    add(facts, section, titleOf(word::kCreated),
        QObject::tr("%1 by %2").arg(fullTimeText(summary.createdMs), qtext(summary.owner)));
    add(facts, section, titleOf(word::kStarted), fullTimeText(summary.startedMs));
    add(facts, section, titleOf(word::kEnded), fullTimeText(summary.endedMs));
    add(facts, section, titleOf(word::kProject), qtext(summary.project));
    add(facts, section, titleOf(word::kModel), qtext(summary.model));
    add(facts, section, titleOf(word::kDataset), qtext(summary.dataset));
    for (const auto& [key, value] : summary.tags) {
        add(facts, titleOf(word::kTags), qtext(key), qtext(value));
    }
    for (auto event = run.events.rbegin(); event != run.events.rend(); ++event) {
        add(facts, QObject::tr("History"), fullTimeText(event->timeMs), qtext(event->text));
    }
    return facts;
}

Facts environmentFacts(const values::RunDetail& run) {
    Facts facts;
    addGit(facts, run.git);
    for (const auto& [name, version] : run.packages) {
        add(facts, QObject::tr("Packages"), qtext(name), qtext(version));
    }
    addHardware(facts, run.hardware);
    add(facts, QObject::tr("Place"), titleOf(word::kNode), qtext(run.summary.host));
    add(facts, QObject::tr("Place"), QObject::tr("Directory"), qtext(run.directory));
    for (const values::WorkerInfo& worker : run.workers) {
        QString text = qtext(worker.state);
        text += worker.state == "ended" ? QObject::tr(", exit code %1").arg(worker.exitCode)
                : worker.pid > 0        ? QObject::tr(", pid %1").arg(worker.pid)
                                        : QString();
        add(facts, QObject::tr("Workers"), qtext(worker.name), text);
    }
    return facts;
}

Facts trafficFacts(const values::RunDetail& run) {
    Facts facts;
    const values::FrameTraffic& traffic = run.shownTraffic();
    const QString section = QObject::tr("Frames between nodes");
    add(facts, section, QObject::tr("Slow link"),
        qtext(session::slowLinkText(run.summary, traffic)));
    for (const values::NodeTraffic& node : traffic.nodes) {
        const QString name = node.node.empty()
                                 ? QObject::tr("%1 other nodes").arg(traffic.otherNodes)
                                 : qtext(node.node);
        add(facts, section, name, flowText(QObject::tr("sends"), node.sent));
        add(facts, section, node.sent.rawBytes > 0 ? QString() : name,
            flowText(QObject::tr("receives"), node.received));
    }
    if (const auto share = traffic.leadShare()) {
        add(facts, section, QObject::tr("Through the leading feed"),
            QObject::tr("%1 of the bytes for ranks on other nodes")
                .arg(qtext(session::percentText(100 * *share))));
    }
    for (const values::LinkTraffic& link : traffic.slowest) {
        add(facts, QObject::tr("Slowest links"),
            QObject::tr("%1 to %2").arg(qtext(link.fromNode), qtext(link.toNode)),
            QObject::tr("%1 while frames were awaited, which was %2 (%3); from %4 to %5")
                .arg(qtext(session::rateText(link.bytesPerSecond())),
                     qtext(session::durationText(1000 * link.awaitedSeconds)),
                     qtext(session::percentText(link.awaitedPercent)), qtext(link.fromWorker),
                     qtext(link.toWorker)));
    }
    return facts;
}

Facts receiptFacts(const values::RunDetail& run) {
    Facts facts;
    if (!run.receipt) {
        return facts;
    }
    const values::Receipt& receipt = *run.receipt;
    add(facts, QObject::tr("Rows"), titleOf(word::kRowsScanned), rowsText(receipt.rowsScanned));
    add(facts, QObject::tr("Rows"), titleOf(word::kRowsPruned), rowsText(receipt.rowsPruned));
    add(facts, QObject::tr("Rows"), titleOf(word::kRowsKept), rowsText(receipt.rowsKept));
    add(facts, QObject::tr("Rows"), titleOf(word::kRowsTrained), rowsText(receipt.rowsTrained));
    if (receipt.endsInsideSegment) {
        add(facts, QObject::tr("Rows"), QObject::tr("Counted"),
            qtext(std::string(receipt.countedText())));
    }
    for (const values::StepReceipt& step : receipt.steps) {
        add(facts, QObject::tr("Steps"), qtext(step.step),
            QObject::tr("%1 of %2").arg(rowsText(step.rowsOut), rowsText(step.rowsIn)));
        for (const values::StepReason& reason : step.reasons) {
            add(facts, QObject::tr("Steps"),
                QString("%1: %2").arg(qtext(step.step), qtext(reason.name)), rowsText(reason.rows));
        }
    }
    for (const values::VocabularyReceipt& one : receipt.vocabularies) {
        const auto text = [](std::int64_t unknown, std::int64_t ids, double percent) {
            return QObject::tr("%1 of %2 (%3 %)")
                .arg(rowsText(unknown), rowsText(ids), QString::number(percent, 'f', 1));
        };
        add(facts, QObject::tr("Unknown ids"), qtext(one.feature),
            text(one.unknown, one.ids, one.unknownPercent()));
        if (one.evalIds > 0) {
            add(facts, QObject::tr("Unknown ids"),
                QObject::tr("%1, evaluation").arg(qtext(one.feature)),
                text(one.evalUnknown, one.evalIds, one.evalUnknownPercent()));
        }
    }
    for (const values::LabelReceipt& one : receipt.labels) {
        add(facts, QObject::tr("No label"), qtext(one.head),
            QObject::tr("%1 null, %2 NaN").arg(rowsText(one.nulls), rowsText(one.nans)));
    }
    double bytes = 0;
    for (const values::FileReceipt& file : receipt.files) {
        bytes += static_cast<double>(file.bytes);
    }
    const bool areAllHere = receipt.numFiles() == static_cast<std::int64_t>(receipt.files.size());
    add(facts, QObject::tr("Files"), QObject::tr("Number"), rowsText(receipt.numFiles()));
    add(facts, QObject::tr("Files"), QObject::tr("Size"),
        bytesText(areAllHere ? bytes : static_cast<double>(run.planBytes)));
    for (const values::FileReceipt& table : receipt.sideTables) {
        add(facts, QObject::tr("Files"), QObject::tr("Table %1").arg(qtext(table.path)),
            table.rows < 0 ? bytesText(static_cast<double>(table.bytes))
                           : QObject::tr("%1 rows").arg(rowsText(table.rows)),
            QObject::tr("Content %1").arg(qtext(table.footerHash)));
    }
    addHash(facts, titleOf(word::kOrderHash), receipt.orderHash);
    addHash(facts, titleOf(word::kEvaluationHash), receipt.evalOrderHash);
    addHash(facts, titleOf(word::kPlanHash), receipt.planHash);
    return facts;
}

Facts specFacts(const values::RunDetail& run) {
    Facts facts;
    for (const auto& [name, value] : run.params) {
        const QString key = qtext(name);
        add(facts, key.section('.', 0, 0), key, qtext(value), qtext(value));
    }
    return facts;
}

}  // namespace millrace::gui
