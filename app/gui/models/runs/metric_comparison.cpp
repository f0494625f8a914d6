#include "app/gui/models/runs/metric_comparison.h"

#include <QObject>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/session/pairs.h"

namespace millrace::gui {
namespace {

using Verdict = BaseDifference::Verdict;

// Whether the runs are known to have read different files, by their pair. One spec with two plans
// has other files too.
session::FilesApart filesApart(const ComparedRun& one, const ComparedRun& against,
                               const values::RunPair* pair) {
    const bool isOneSpec = one.run.specHash == against.run.specHash;
    const bool isRewritten = isOneSpec && one.run.planHash != against.run.planHash;
    const session::FilesApart apart = session::filesApart(pair, against.run, one.run);
    return {apart.evaluation.value_or(isRewritten), apart.training.value_or(isRewritten)};
}

Verdict verdictOf(const std::string& metric, const ComparedRun& one, const ComparedRun& against,
                  const session::FilesApart& files) {
    const values::RunSummary &run = one.run, &other = against.run;
    if (values::isEvalMetric(metric)) {
        if (run.evalOrderHash.empty() || other.evalOrderHash.empty()) {
            return Verdict::kUnknownRows;
        }
        if (run.orderHashVersion != other.orderHashVersion) {
            return Verdict::kOtherHashes;
        }
        if (run.evalOrderHash != other.evalOrderHash || files.evaluation.value_or(false)) {
            return Verdict::kOtherRows;
        }
    }
    const bool isOfTraining = session::isTrainMetric(metric);
    if ((values::isEvalMetric(metric) || isOfTraining) &&
        session::hasOtherLabels(one.params, against.params)) {
        return Verdict::kOtherLabel;
    }
    if (one.value == against.value) {
        return Verdict::kSame;
    }
    const bool isOtherStream = run.streamHash != other.streamHash || files.training.value_or(false);
    return isOfTraining && isOtherStream ? Verdict::kOtherTraining : Verdict::kApart;
}

QString sentenceOf(Verdict verdict, double difference, bool isOfModel, const QString& other) {
    const QString size = numberText(std::abs(difference));
    const QString apart =
        (difference < 0 ? QObject::tr("%1 below %2") : QObject::tr("%1 above %2")).arg(size, other);
    switch (verdict) {
        case Verdict::kOtherLabel:
            return QObject::tr("%1; learned another label").arg(apart);
        case Verdict::kSame:
            return QObject::tr("The same as %1").arg(other);
        case Verdict::kOtherRows:
            return QObject::tr("Evaluated on other rows than %1: the figures do not compare")
                .arg(other);
        case Verdict::kUnknownRows:
            return QObject::tr("%1; not known yet whether on the same rows").arg(apart);
        case Verdict::kOtherHashes:
            return QObject::tr(
                       "%1; whether on the same rows is not known: order hashes of two "
                       "versions are not comparable")
                .arg(apart);
        case Verdict::kOtherTraining:
            return QObject::tr("Trained on other rows than %1: the losses do not compare")
                .arg(other);
        case Verdict::kApart:
            break;
    }
    return isOfModel ? QObject::tr("%1; seed noise unknown").arg(apart) : apart;
}

}  // namespace

BaseDifference compareMetric(const std::string& metric, const ComparedRun& run,
                             const ComparedRun& other, const QString& otherName,
                             const values::RunPair* pair) {
    const double difference = run.value - other.value;
    const Verdict verdict = verdictOf(metric, run, other, filesApart(run, other, pair));
    const bool isOfModel = values::isEvalMetric(metric) || session::isTrainMetric(metric);
    return {difference, verdict, other.value,
            sentenceOf(verdict, difference, isOfModel,
                       QString("%1 (%2)").arg(otherName, numberText(other.value)))};
}

}  // namespace millrace::gui
