#include "app/gui/models/runs/metric_comparison.h"

#include <QObject>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

using values::RunSummary;
using Verdict = BaseDifference::Verdict;

Verdict verdictOf(const std::string& metric, const RunSummary& run, const RunSummary& other,
                  double difference) {
    if (values::isEvalMetric(metric)) {
        if (run.evalOrderHash.empty() || other.evalOrderHash.empty()) {
            return Verdict::kUnknownRows;
        }
        if (run.orderHashVersion != other.orderHashVersion) {
            return Verdict::kOtherHashes;
        }
        if (run.evalOrderHash != other.evalOrderHash) {
            return Verdict::kOtherRows;
        }
    }
    if (difference == 0) {
        return Verdict::kSame;
    }
    if (session::isTrainMetric(metric) && run.streamHash != other.streamHash) {
        return Verdict::kOtherTraining;
    }
    switch (values::senseOf(metric)) {
        case values::MetricSense::kLowerIsBetter:
            return difference < 0 ? Verdict::kBetter : Verdict::kWorse;
        case values::MetricSense::kHigherIsBetter:
            return difference > 0 ? Verdict::kBetter : Verdict::kWorse;
        default:
            return Verdict::kNeutral;
    }
}

QString sentenceOf(Verdict verdict, double difference, const QString& other) {
    const QString size = numberText(std::abs(difference));
    const QString apart =
        (difference < 0 ? QObject::tr("%1 below %2") : QObject::tr("%1 above %2")).arg(size, other);
    switch (verdict) {
        case Verdict::kBetter:
            return QObject::tr("%1 better than %2").arg(size, other);
        case Verdict::kWorse:
            return QObject::tr("%1 worse than %2").arg(size, other);
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
        case Verdict::kNeutral:
            break;
    }
    return apart;
}

}  // namespace

BaseDifference compareMetric(const std::string& metric, const RunSummary& run, double value,
                             const RunSummary& other, double otherValue, const QString& otherName) {
    const double difference = value - otherValue;
    const Verdict verdict = verdictOf(metric, run, other, difference);
    return {
        difference, verdict, otherValue,
        sentenceOf(verdict, difference, QString("%1 (%2)").arg(otherName, numberText(otherValue)))};
}

}  // namespace millrace::gui
