#include "app/gui/models/fuzzy_match.h"

#include <QStringList>
#include <algorithm>

namespace millrace::gui {
namespace {

constexpr int kLetter = 1, kWordStart = 8, kSideBySide = 5, kWholeStart = 6, kNoPlace = -1000000;

bool isWordStart(const QString& text, qsizetype i) {
    if (i == 0) {
        return true;
    }
    const QChar before = text[i - 1], here = text[i];
    return (!before.isLetterOrNumber() && here.isLetterOrNumber()) ||
           (before.isLower() && here.isUpper());
}

int placeScore(const QString& text, qsizetype i) {
    return kLetter + (isWordStart(text, i) ? kWordStart : 0) + (i == 0 ? kWholeStart : 0);
}

// Finds the best positions of the letters in order. best[k][i]: letter k is at text[i].
std::optional<FuzzyMatch> matchWord(const QString& word, const QString& text) {
    const qsizetype n = text.size(), m = word.size();
    std::vector<std::vector<int>> best(m, std::vector<int>(n, kNoPlace));
    std::vector<std::vector<int>> from(m, std::vector<int>(n, -1));
    for (qsizetype k = 0; k < m; ++k) {
        int bestBefore = kNoPlace, placeBefore = -1;
        for (qsizetype i = k; i < n; ++i) {
            if (k > 0 && i > 0 && best[k - 1][i - 1] > bestBefore) {
                bestBefore = best[k - 1][i - 1];
                placeBefore = static_cast<int>(i - 1);
            }
            if (text[i].toCaseFolded() != word[k].toCaseFolded()) {
                continue;
            }
            if (k == 0) {
                best[k][i] = placeScore(text, i);
                continue;
            }
            const int beside = i > 0 ? best[k - 1][i - 1] + kSideBySide : kNoPlace;
            const int before = beside >= bestBefore ? beside : bestBefore;
            if (before > kNoPlace / 2) {
                best[k][i] = before + placeScore(text, i);
                from[k][i] = beside >= bestBefore ? static_cast<int>(i - 1) : placeBefore;
            }
        }
    }
    const auto last = std::max_element(best[m - 1].begin(), best[m - 1].end());
    if (*last <= kNoPlace / 2) {
        return std::nullopt;
    }
    FuzzyMatch match{*last, std::vector<int>(static_cast<std::size_t>(m))};
    int place = static_cast<int>(last - best[m - 1].begin());
    for (qsizetype k = m; k-- > 0;) {
        match.places[static_cast<std::size_t>(k)] = place;
        place = from[k][place];
    }
    return match;
}

}  // namespace

std::optional<FuzzyMatch> fuzzyMatch(const QString& query, const QString& text) {
    FuzzyMatch all;
    for (const QString& word : query.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        if (word.size() > text.size()) {
            return std::nullopt;
        }
        std::optional<FuzzyMatch> one = matchWord(word, text);
        if (!one.has_value()) {
            return std::nullopt;
        }
        all.score += one->score;
        all.places.insert(all.places.end(), one->places.begin(), one->places.end());
    }
    std::ranges::sort(all.places);
    all.places.erase(std::unique(all.places.begin(), all.places.end()), all.places.end());
    return all;
}

}  // namespace millrace::gui
