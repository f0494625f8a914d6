#include "app/gui/models/runs/metric_comparison.h"

#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

using client::RunSummary;
using Verdict = BaseDifference::Verdict;

Verdict verdictOf(const std::string& metric, const RunSummary& run, const RunSummary& other,
                  double difference) {
    if (isEvalMetric(metric)) {
        if (run.evalOrderHash.empty() || other.evalOrderHash.empty()) {
            return Verdict::kUnknownRows;
        }
        if (run.evalOrderHash != other.evalOrderHash) {
            return Verdict::kOtherRows;
        }
    }
    if (difference == 0) {
        return Verdict::kSame;
    }
    if (isTrainMetric(metric) && run.streamHash != other.streamHash) {
        return Verdict::kOtherTraining;
    }
    switch (senseOf(metric)) {
        case MetricSense::kLowerIsBetter:
            return difference < 0 ? Verdict::kBetter : Verdict::kWorse;
        case MetricSense::kHigherIsBetter:
            return difference > 0 ? Verdict::kBetter : Verdict::kWorse;
        default:
            return Verdict::kNeutral;
    }
}

QString sentenceOf(Verdict verdict, double difference, const QString& other) {
    const QString size = numberText(std::abs(difference));
    switch (verdict) {
        case Verdict::kBetter:
            return size + " better than " + other;
        case Verdict::kWorse:
            return size + " worse than " + other;
        case Verdict::kSame:
            return "The same as " + other;
        case Verdict::kOtherRows:
            return "Evaluated on other rows than " + other + ": the figures do not compare";
        case Verdict::kUnknownRows:
            return size + (difference < 0 ? " below " : " above ") + other +
                   "; not known yet whether on the same rows";
        case Verdict::kOtherTraining:
            return "Trained on other rows than " + other + ": the losses do not compare";
        case Verdict::kNeutral:
            break;
    }
    return size + (difference < 0 ? " below " : " above ") + other;
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
