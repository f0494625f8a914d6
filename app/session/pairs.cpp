#include "app/session/pairs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/session/figures.h"
#include "backend/core/text.h"

namespace millrace::session {
namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        strAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
    }
    return text;
}

void addOnce(std::vector<std::string>& to, const std::string& text) {
    if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) {
        to.push_back(text);
    }
}

bool hasRows(const values::RunPair& pair) {
    return std::any_of(pair.heads.begin(), pair.heads.end(),
                       [](const values::PairedHead& head) { return head.rows > 0; });
}

// These rows as a share of all rows that both runs could have scored.
std::string shareText(const values::RunPair& pair) {
    return strCat(numberText(100 * pair.share), " %", pair.isSample ? " of a sample" : "");
}

}  // namespace

std::string lossDifferenceText(double difference) {
    if (std::isnan(difference)) {
        return "unknown";
    }
    if (difference == 0) {
        return "the same";
    }
    return strCat(numberText(std::abs(difference)), difference < 0 ? " less" : " more");
}

std::string pairedRowsText(const values::RunPair& pair, std::int64_t rows) {
    return strCat(formatCount(rows), " (", shareText(pair), ")");
}

std::string pairSentence(const values::RunPair& pair, const values::PairedHead& head,
                         const std::string& first, bool hasOtherLabel) {
    return strCat(pair.run, " against ", first, ", on the ", formatCount(head.rows),
                  " rows that both scored (", shareText(pair), "): log loss of ", head.name, " ",
                  lossDifferenceText(head.logLossDifference), hasOtherLabel ? "; other label" : "");
}

std::string whyUnpaired(const values::PairReply& reply) {
    std::vector<std::string> without, apart, problems;
    for (const values::RunPair& pair : reply.pairs) {
        for (const std::string& run : pair.without) {
            addOnce(without, run);
        }
        addOnce(problems, pair.problem);
        if (pair.hasScores && !hasRows(pair)) {
            addOnce(apart, pair.run);
        }
    }
    std::vector<std::string> reasons;
    if (!without.empty()) {
        reasons.push_back(strCat(listed(without), without.size() == 1 ? " has" : " have",
                                 " no scores of an evaluation"));
    }
    if (!apart.empty()) {
        reasons.push_back(strCat(listed(apart), " scored no row that the first run scored too"));
    }
    reasons.insert(reasons.end(), problems.begin(), problems.end());
    std::string text;
    for (const std::string& reason : reasons) {
        strAppend(&text, text.empty() ? "not compared row by row: " : "; ", reason);
    }
    return text;
}

std::string whyUnpaired(const Status& status) {
    return strCat("not compared row by row: ", messageOf(status));
}

}  // namespace millrace::session
