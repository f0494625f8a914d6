#include "backend/scores/pairing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace millrace::scores {
namespace {

constexpr double kMargin = 1e-12;  // as in an evaluation's metrics

double logLossOf(float score, float label) {
    const double p = std::clamp(static_cast<double>(score), kMargin, 1 - kMargin);
    return -(label * std::log(p) + (1 - label) * std::log1p(-p));
}

/// The last key that can be compared: a sample lacks higher keys although their rows were
/// evaluated.
std::uint64_t lastComparable(const Scores& scores) {
    return scores.isSample() && !scores.keys.empty() ? scores.keys.back()
                                                     : std::numeric_limits<std::uint64_t>::max();
}

std::int64_t upTo(const Scores& scores, std::uint64_t last) {
    return std::upper_bound(scores.keys.begin(), scores.keys.end(), last) - scores.keys.begin();
}

// The number of the first `rows` rows that have a label.
std::int64_t labelled(const HeadScores& head, std::int64_t rows) {
    return std::count_if(head.labels.begin(), head.labels.begin() + rows,
                         [](float label) { return !std::isnan(label); });
}

PairedHead pairHead(const HeadScores& first, const HeadScores& second,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& rows) {
    PairedHead out;
    out.name = first.name;
    double a = 0, b = 0;
    for (const auto& [i, j] : rows) {
        const float label = first.labels[i];
        if (std::isnan(label) && std::isnan(second.labels[j])) {
            continue;
        }
        if (!(label == second.labels[j])) {
            ++out.otherLabels;
            continue;
        }
        a += logLossOf(first.scores[i], label);
        b += logLossOf(second.scores[j], label);
        ++out.rows;
    }
    const double n =
        out.rows > 0 ? static_cast<double>(out.rows) : std::numeric_limits<double>::quiet_NaN();
    out.first = a / n;
    out.second = b / n;
    out.difference = (b - a) / n;
    return out;
}

}  // namespace

Pairing pairScores(const Scores& first, const Scores& second) {
    const std::uint64_t last = std::min(lastComparable(first), lastComparable(second));
    const std::int64_t ofFirst = upTo(first, last), ofSecond = upTo(second, last);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;
    for (std::int64_t i = 0, j = 0; i < ofFirst && j < ofSecond;) {
        const std::uint64_t a = first.keys[static_cast<std::size_t>(i)];
        const std::uint64_t b = second.keys[static_cast<std::size_t>(j)];
        if (a == b) {
            rows.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
        }
        i += a <= b ? 1 : 0;
        j += b <= a ? 1 : 0;
    }
    Pairing out;
    out.rows = static_cast<std::int64_t>(rows.size());
    const std::int64_t most = std::max(ofFirst, ofSecond);
    out.share = most > 0 ? static_cast<double>(out.rows) / static_cast<double>(most) : 0;
    out.isSample = first.isSample() || second.isSample();
    for (const HeadScores& head : first.heads) {
        const auto same = std::ranges::find_if(
            second.heads, [&](const HeadScores& h) { return h.name == head.name; });
        if (same != second.heads.end()) {
            PairedHead& paired = out.heads.emplace_back(pairHead(head, *same, rows));
            const std::int64_t labels =
                std::max(labelled(head, ofFirst), labelled(*same, ofSecond));
            paired.share = static_cast<double>(paired.rows) /
                           static_cast<double>(std::max<std::int64_t>(labels, 1));
        }
    }
    return out;
}

}  // namespace millrace::scores
