#include "app/gui/models/palette_model.h"

#include <algorithm>

namespace millrace::gui {
namespace {

constexpr int kMostRemembered = 8;
constexpr int kInGroupOnly = 20;  // a word found only in the group or detail counts less

QString keyOf(const PaletteEntry& entry) {
    return entry.group + QLatin1Char('\n') + entry.title;
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
        // The title stands first, so places below its length are places in the title.
        const QString text =
            entry.title + QLatin1Char(' ') + entry.group + QLatin1Char(' ') + entry.detail;
        std::optional<FuzzyMatch> match = fuzzyMatch(query_, text);
        if (!match.has_value()) {
            continue;
        }
        const auto end = std::lower_bound(match->places.begin(), match->places.end(),
                                          static_cast<int>(entry.title.size()));
        const bool isOutside = end != match->places.end();
        match->places.erase(end, match->places.end());
        int score = match->score - (isOutside ? kInGroupOnly : 0) - (entry.isEnabled ? 0 : 1000);
        if (query_.trimmed().isEmpty()) {
            const auto at = lately_.indexOf(keyOf(entry));
            score += at < 0 ? 0 : kMostRemembered - static_cast<int>(at);
        }
        shown_.push_back({i, score, std::move(match->places)});
    }
    std::stable_sort(shown_.begin(), shown_.end(),
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
