#include "app/gui/models/palette_model.h"

#include <algorithm>

namespace millrace::gui {
namespace {

constexpr int kMostRemembered = 8;
constexpr int kInGroupOnly = 20;  // a word found only in the group or detail counts less
constexpr int kBegins = 100, kBeginsAWord = 60, kIsInside = 30;

QString keyOf(const PaletteEntry& entry) {
    return entry.group + QLatin1Char('\n') + entry.title;
}

// Whole words score above scattered letters: a word at the start of the title first, then at the
// start of a later word, then inside one.
int wholeWordScore(const QString& word, const QString& text) {
    const auto at = text.indexOf(word, 0, Qt::CaseInsensitive);
    if (at <= 0) {
        return at < 0 ? 0 : kBegins;
    }
    for (auto i = at; i > 0; i = text.indexOf(word, i + 1, Qt::CaseInsensitive)) {
        if (!text[i - 1].isLetterOrNumber()) {
            return kBeginsAWord;
        }
    }
    return kIsInside;
}

// Each word of the query must match one of the texts; the positions are those in the title.
std::optional<FuzzyMatch> matchOf(const PaletteEntry& entry, const QString& query) {
    FuzzyMatch all;
    for (const QString& word : query.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        std::optional<FuzzyMatch> best = fuzzyMatch(word, entry.title);
        if (best) {
            best->score += wholeWordScore(word, entry.title);
        }
        for (const QString& text : {entry.group, entry.detail}) {
            std::optional<FuzzyMatch> other = fuzzyMatch(word, text);
            if (!other) {
                continue;
            }
            other->score += wholeWordScore(word, text) - kInGroupOnly;
            other->places.clear();
            best = !best || other->score > best->score ? other : best;
        }
        if (!best) {
            return std::nullopt;
        }
        all.score += best->score;
        all.places.insert(all.places.end(), best->places.begin(), best->places.end());
    }
    std::ranges::sort(all.places);
    all.places.erase(std::unique(all.places.begin(), all.places.end()), all.places.end());
    return all;
}

QVariantList asList(const std::vector<int>& places) {
    QVariantList list;
    for (const int place : places) {
        list.append(place);
    }
    return list;
}

}  // namespace

void PaletteModel::setEntries(std::vector<PaletteEntry> entries) {
    entries_ = std::move(entries);
    filter();
}

void PaletteModel::setQuery(const QString& query) {
    query_ = query;
    filter();
}

void PaletteModel::filter() {
    beginResetModel();
    shown_.clear();
    for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
        const PaletteEntry& entry = entries_[static_cast<std::size_t>(i)];
        std::optional<FuzzyMatch> match = matchOf(entry, query_);
        if (!match.has_value()) {
            continue;
        }
        int score = match->score - (entry.isEnabled ? 0 : 1000);
        if (query_.trimmed().isEmpty()) {
            const auto at = lately_.indexOf(keyOf(entry));
            score += at < 0 ? 0 : kMostRemembered - static_cast<int>(at);
        }
        shown_.push_back({i, score, std::move(match->places)});
    }
    std::ranges::stable_sort(shown_,
                             [](const Shown& a, const Shown& b) { return a.score > b.score; });
    if (shown_.size() > kMostShown) {
        shown_.resize(kMostShown);
    }
    endResetModel();
}

const PaletteEntry* PaletteModel::entry(int row) const {
    if (row < 0 || row >= rowCount()) {
        return nullptr;
    }
    return &entries_[static_cast<std::size_t>(shown_[static_cast<std::size_t>(row)].entry)];
}

void PaletteModel::remember(int row) {
    if (const PaletteEntry* chosen = entry(row)) {
        const QString key = keyOf(*chosen);
        lately_.removeAll(key);
        lately_.prepend(key);
        while (lately_.size() > kMostRemembered) {
            lately_.removeLast();
        }
    }
}

int PaletteModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant PaletteModel::data(const QModelIndex& index, int role) const {
    const PaletteEntry* e = index.isValid() ? entry(index.row()) : nullptr;
    if (e == nullptr) {
        return {};
    }
    switch (role) {
        case Qt::DisplayRole:
            return e->title;
        case kEntryIndex:
            return shown_[static_cast<std::size_t>(index.row())].entry;
        case kGroup:
            return e->group;
        case kDetail:
            return e->detail;
        case kKeyText:
            return e->key.toString(QKeySequence::NativeText);
        case kPlaces:
            return asList(shown_[static_cast<std::size_t>(index.row())].places);
        case Qt::AccessibleTextRole:
            return QString(e->title + QLatin1String(", ") + e->group);
        default:
            return {};
    }
}

Qt::ItemFlags PaletteModel::flags(const QModelIndex& index) const {
    const PaletteEntry* e = index.isValid() ? entry(index.row()) : nullptr;
    if (e == nullptr) {
        return Qt::NoItemFlags;
    }
    return e->isEnabled ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags;
}

}  // namespace millrace::gui
