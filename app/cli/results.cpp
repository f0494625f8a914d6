#include "app/cli/results.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <absl/strings/str_join.h>

#include "app/cli/frame/table.h"
#include "app/session/live_model.h"
#include "app/session/metric_catalogue.h"
#include "app/session/pairs.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
namespace metric = values::metric;
namespace word = session::word;

// auc and normalised entropy, for every head if there are several; loss if neither is known.
std::vector<std::string> metricsToShow(const std::vector<values::RunSummary>& runs) {
    std::vector<std::string> names;
    for (const char* ending : {metric::kAuc, metric::kNormalizedEntropy, metric::kCalibration}) {
        for (const values::RunSummary& run : runs) {
            for (const values::RunFigure& point : run.latestMetrics) {
                const bool isWanted =
                    values::isEvalMetric(point.name) && point.name.ends_with(ending);
                if (isWanted && std::ranges::find(names, point.name) == names.end()) {
                    names.push_back(point.name);
                }
            }
        }
    }
    names = session::eachOnce(std::move(names));
    return names.empty() ? std::vector<std::string>{metric::kLoss} : names;
}

std::string rowsText(std::int64_t rows) {
    return rows > 0 ? formatCount(rows) : "-";
}

bool isEvaluated(const values::RunSummary& run) {
    return !run.evalOrderHash.empty();
}

/// The versions of the runs' evaluation hashes.
std::set<int> hashVersions(const std::vector<values::RunSummary>& runs) {
    std::set<int> versions;
    for (const values::RunSummary& run : runs) {
        if (isEvaluated(run)) {
            versions.insert(run.orderHashVersion);
        }
    }
    return versions;
}

// "r-a has 291 rows with a label, r-b has 241"; "" if all that were evaluated have as many.
std::string otherLabelsText(const std::vector<values::RunSummary>& runs) {
    const std::string ending = strCat(".", metric::kRows);
    std::map<std::string, std::map<double, std::string>> counts;  // by metric, then by rows
    for (const values::RunSummary& run : runs) {
        for (const values::RunFigure& point : run.latestMetrics) {
            if (isEvaluated(run) && values::isEvalMetric(point.name) &&
                point.name.ends_with(ending)) {
                counts[point.name].try_emplace(point.value, run.id);
            }
        }
    }
    std::string text;
    for (const auto& [name, runByRows] : counts) {
        for (const auto& [rows, run] : runByRows) {
            if (runByRows.size() > 1) {
                strAppend(&text, text.empty() ? "" : ", ", run, " has ",
                          formatCount(std::llround(rows)),
                          text.empty() ? " rows with a label" : "");
            }
        }
        if (!text.empty()) {
            break;
        }
    }
    return text;
}

// kSame, or what the pairs with the first run report about the files of the evaluations.
SameRows contentOf(const std::vector<values::RunSummary>& runs, const values::PairReply& pairs) {
    SameRows content = SameRows::kSame;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        if (!isEvaluated(runs[i])) {
            continue;
        }
        const auto isOther =
            session::filesApart(session::findPair(pairs, runs[i].id), runs.front(), runs[i])
                .evaluation;
        if (isOther.value_or(false)) {
            return SameRows::kOtherContent;
        }
        content = isOther ? content : SameRows::kUnknownFiles;
    }
    return content;
}

// Advice if the test figures of a run are worse than the mean label's, or too good; "" if
// neither.
std::string hintOf(const values::RunSummary& run) {
    constexpr std::int64_t kFewSteps = 200;
    constexpr double kDivergedEntropy = 3, kTooGoodAuc = 0.995, kTooHigh = 1.5;
    const bool isScript = run.model.empty();  // it has its own learning rate, label and steps
    const auto entropy = session::shownValue(run, metric::kEvalNormalizedEntropy);
    const auto calibration = session::shownValue(run, strCat("eval.", metric::kCalibration));
    if (entropy && *entropy > 1 && calibration && *calibration > kTooHigh) {
        return strCat("NE above 1: predictions are ", session::numberText(*calibration),
                      " times as high as the label on average; ",
                      isScript ? "a loss that weights positives" : "a label's weight above 1",
                      " does that", isScript ? "." : " (labels.HEAD.weight).");
    }
    if (entropy && *entropy > 1 && isScript) {
        return "NE above 1: the mean label for every row predicts better than the script.";
    }
    if (entropy && *entropy > kDivergedEntropy) {
        return "NE far above 1: training diverged or learned its rows by heart; a lower "
               "train.learning_rate or fewer steps may help.";
    }
    if (entropy && *entropy > 1) {
        return run.progress.step < kFewSteps
                   ? "NE above 1: the mean label for every row predicts better; with few steps, a "
                     "higher train.learning_rate or more of them (batch.epochs, batch.rows) may "
                     "help."
                   : "NE above 1: the mean label for every row predicts better; often a run is too "
                     "long, and eval.every_steps shows from where on.";
    }
    return session::shownValue(run, metric::kEvalAuc).value_or(0) > kTooGoodAuc
               ? "AUC above 0.995: check that no feature is known only after the label, or made "
                 "from it."
               : "";
}

/// Sentences with the runs that they are about, one line each.
class RunNotes {
 public:
    void add(const std::string& sentence, const std::string& run) {
        const auto known =
            std::ranges::find(lines_, sentence, [](const auto& line) { return line.first; });
        known == lines_.end() ? void(lines_.emplace_back(sentence, run))
                              : strAppend(&known->second, ", ", run);
    }
    std::string text(const Terminal& terminal) const {
        std::string text;
        for (const auto& [sentence, runs] : lines_) {
            strAppend(&text, paint(terminal, Tone::kWarn, strCat(runs, ": ", sentence)), "\n");
        }
        return text;
    }

 private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

}  // namespace

void EvaluatedRows::take(std::string_view name, double value) {
    if (!values::isEvalMetric(name)) {
        return;
    }
    const std::size_t first = name.find('.'), last = name.rfind('.');
    const std::string_view kind = name.substr(last + 1);
    const std::string head(first == last ? "" : name.substr(first + 1, last - first - 1));
    if (kind == metric::kRows) {
        heads_[head].rows = value;
    } else if (kind == metric::kPositives) {
        heads_[head].positives = value;
    }
}

std::string EvaluatedRows::text(std::string_view before) const {
    // Metrics without a head repeat those of the first head by name.
    const bool isNamed = heads_.size() > (heads_.contains("") ? 2U : 1U);
    std::string text;
    for (const auto& [head, counts] : heads_) {
        const bool isShown = isNamed ? !head.empty() : text.empty();
        if (!isShown || !counts.rows) {
            continue;
        }
        strAppend(&text, text.empty() ? "" : "; ", isNamed ? strCat(head, ": ") : std::string(),
                  session::countText(std::llround(*counts.rows), "row"));
        if (counts.positives) {
            strAppend(&text, ", ", formatCount(std::llround(*counts.positives)), " positive");
        }
    }
    return text.empty() ? "" : strCat(before, text);
}

SameRows evaluatedOnSameRows(const std::vector<values::RunSummary>& runs,
                             const values::PairReply* pairs) {
    std::set<std::string> hashes;
    int known = 0;
    for (const values::RunSummary& run : runs) {
        if (isEvaluated(run)) {
            hashes.insert(run.evalOrderHash);
            ++known;
        }
    }
    if (hashVersions(runs).size() > 1) {
        return SameRows::kNotComparable;
    }
    if (hashes.size() > 1) {
        return SameRows::kDifferent;
    }
    if (known < 2) {
        return SameRows::kUnknown;
    }
    const SameRows content = pairs == nullptr ? SameRows::kSame : contentOf(runs, *pairs);
    return content == SameRows::kSame && !otherLabelsText(runs).empty() ? SameRows::kOtherLabels
                                                                        : content;
}

std::string sameRowsSentence(const std::vector<values::RunSummary>& runs, const Terminal& terminal,
                             const values::PairReply* pairs) {
    const auto unknown = [&](const std::string& why) {
        return paint(terminal, Tone::kWarn,
                     "Whether all were evaluated on the same rows is not known:") +
               strCat(" ", why, ".\n");
    };
    const auto different = [&](const std::string& why) {
        return paint(terminal, Tone::kWarn, "Not all were evaluated on the same rows:") +
               strCat(" ", why, "their test figures do not compare.\n");
    };
    switch (evaluatedOnSameRows(runs, pairs)) {
        case SameRows::kUnknown:
            return "";
        case SameRows::kNotComparable:
            return unknown(strCat("their order hashes are not comparable: version ",
                                  absl::StrJoin(hashVersions(runs), " and ")));
        case SameRows::kUnknownFiles:
            return unknown("the daemon could not compare the files that they read");
        case SameRows::kDifferent:
            return different("");
        case SameRows::kOtherContent:
            return different("the files differ in content, so ");
        case SameRows::kOtherLabels:
            return different(otherLabelsText(runs) + "; ");
        case SameRows::kSame:
            break;
    }
    const auto known = std::ranges::count_if(runs, isEvaluated);
    const bool isAll = known == static_cast<std::ptrdiff_t>(runs.size());
    const std::string hash = std::ranges::find_if(runs, isEvaluated)->evalOrderHash;
    return paint(terminal, Tone::kGood,
                 isAll ? std::string("All were evaluated on the same rows")
                       : strCat(known, " of ", runs.size(), " were evaluated, on the same rows")) +
           " (evaluation hash " + hash.substr(0, 12) + ").\n";
}

std::string fewRowsText(const std::vector<values::RunSummary>& runs, const Terminal& terminal) {
    for (const values::RunSummary& run : runs) {
        for (const values::RunFigure& point : run.latestMetrics) {
            if (session::isOfFewRows(run, point.name)) {
                return paint(terminal, Tone::kDim, session::kFewNote) + "\n";
            }
        }
    }
    return "";
}

std::string countedRowsText(const std::vector<values::RunDetail>& runs, const Terminal& terminal) {
    std::map<std::string_view, std::string> runsBySentence;
    for (const values::RunDetail& run : runs) {
        if (run.receipt && run.receipt->endsInsideSegment) {
            std::string& ids = runsBySentence[run.receipt->countedText()];
            strAppend(&ids, ids.empty() ? "" : ", ", run.summary.id);
        }
    }
    std::string text;
    for (const auto& [sentence, ids] : runsBySentence) {
        text += paint(terminal, Tone::kDim, strCat(ids, ": ", sentence, ".")) + "\n";
    }
    return text;
}

std::string unknownIdsText(const std::vector<values::RunDetail>& runs, const Terminal& terminal) {
    constexpr double kLeastPercent = 1, kLeastMorePercent = 10;
    RunNotes notes;
    for (const values::RunDetail& run : runs) {
        for (const values::VocabularyReceipt& one :
             run.receipt ? run.receipt->vocabularies : std::vector<values::VocabularyReceipt>()) {
            const double percent = one.evalUnknownPercent(), trained = one.unknownPercent();
            const std::string what = strCat(session::percentText(percent), " of '", one.feature,
                                            "' in the evaluation are ");
            if (one.unknown == 0 && percent >= kLeastPercent) {
                notes.add(strCat(what,
                                 "values that training never had; they add nothing to a "
                                 "prediction."),
                          run.summary.id);
            } else if (percent >= trained + kLeastMorePercent) {
                notes.add(strCat(what, "null or not in the vocabulary, in training ",
                                 session::percentText(trained),
                                 "; a value that training never had is scored like a null."),
                          run.summary.id);
            }
        }
    }
    return notes.text(terminal);
}

std::string resultTable(const std::vector<values::RunSummary>& runs, const Terminal& terminal,
                        const std::vector<std::string>& metrics, const values::PairReply* pairs) {
    const std::vector<std::string> names = metrics.empty() ? metricsToShow(runs) : metrics;
    // If all runs finished, STATE is the first column to be omitted.
    const bool isAllFinished = std::ranges::all_of(
        runs, [](const auto& run) { return run.state == values::RunState::kFinished; });
    std::vector<Column> columns = {{word::kRun.heading, Align::kLeft, 7, 2},
                                   {word::kName.heading, Align::kLeft, 15},
                                   {word::kState.heading, Align::kLeft, 8, isAllFinished ? 9 : 1}};
    for (std::size_t i = 0; i < names.size(); ++i) {
        columns.push_back({session::metricColumn(names[i]), Align::kRight, 6, i >= 2 ? 8 : 0});
    }
    const std::vector<Column> rest = {{word::kRowsRead.heading, Align::kRight, 6, 6},
                                      {word::kRowsKept.heading, Align::kRight, 6, 5},
                                      {word::kRowsTrained.heading, Align::kRight, 6, 3},
                                      {word::kRate.heading, Align::kRight, 6, 3},
                                      {word::kDuration.heading, Align::kRight, 5, 7}};
    columns.insert(columns.end(), rest.begin(), rest.end());
    const bool isOneName = std::ranges::all_of(
        runs, [&](const values::RunSummary& r) { return r.name == runs.front().name; });
    Table table(std::move(columns));
    for (const values::RunSummary& run : runs) {
        const std::string label =
            isOneName && !run.variation.empty() ? run.variation : session::labelOf(run);
        std::vector<TableCell> row = {{run.id, Tone::kAccent},
                                      {label, Tone::kStrong},
                                      {std::string(nameOf(run.state)), tui::toneOf(run.state)}};
        for (const std::string& name : names) {
            row.push_back(session::numberText(name == metric::kSamplesPerSecond
                                                  ? run.meanRate
                                                  : session::shownValue(run, name)) +
                          (session::isOfFewRows(run, name) ? session::kFewMark : ""));
        }
        row.push_back(rowsText(run.rowsRead));
        row.push_back(rowsText(run.rowsKept));
        row.push_back(rowsText(run.rowsTrained));
        row.push_back(run.meanRate ? formatCount(std::llround(*run.meanRate)) : "-");
        const bool hasEnded = run.startedMs > 0 && run.endedMs > 0;
        row.push_back(hasEnded
                          ? formatDuration(static_cast<double>(run.endedMs - run.startedMs) / 1e3)
                          : "-");
        table.add(std::move(row));
    }
    std::string text = table.render(terminal);
    const bool hasPause =
        std::ranges::any_of(runs, [](const auto& run) { return run.attempt > 1; });
    if (std::ranges::find(names, metric::kEvalNormalizedEntropy) != names.end()) {
        text += paint(terminal, Tone::kDim,
                      strCat("NE: normalised entropy, 1 = no better than the mean; ",
                             word::kRate.heading, ": mean of the run",
                             hasPause ? strCat("; ", word::kDuration.heading,
                                               ": with the pauses between attempts")
                                      : "",
                             ".")) +
                "\n";
    }
    RunNotes hints;
    for (const values::RunSummary& run : runs) {
        if (const std::string hint = hintOf(run); !hint.empty()) {
            hints.add(std::string(hint), run.id);
        }
    }
    return text + fewRowsText(runs, terminal) + hints.text(terminal) +
           sameRowsSentence(runs, terminal, pairs);
}

}  // namespace millrace::cli
