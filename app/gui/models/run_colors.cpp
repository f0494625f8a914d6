#include "app/gui/models/run_colors.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::gui {
namespace {

constexpr int kMostColors = 500;
constexpr const char* kKey = "runs/colors";
constexpr int kBase = RunColors::kNumLooks;  // the index after all other looks

RunColors::Look lookOf(int number) {
    static const QColor kGrey(0x6a, 0x6a, 0x6a);
    return number == kBase ? RunColors::Look{kGrey, 0}
                           : RunColors::numbered(static_cast<std::size_t>(number));
}

}  // namespace

const std::vector<QColor>& RunColors::palette() {
    static const std::vector<QColor> kPalette = {
        QColor(0x00, 0x72, 0xb2), QColor(0xe6, 0x9f, 0x00), QColor(0x00, 0x9e, 0x73),
        QColor(0xd5, 0x5e, 0x00), QColor(0x56, 0xb4, 0xe9), QColor(0xcc, 0x79, 0xa7),
        QColor(0x7a, 0x52, 0xe0), QColor(0xa3, 0xa0, 0x4f)};
    return kPalette;
}

RunColors::Look RunColors::numbered(std::size_t i) {
    const std::size_t size = palette().size();
    return {palette()[i % size], 2 * static_cast<int>(i / size % kNumDashes)};
}

int RunColors::wishOf(const QString& key) const {
    return looks_.value(key, static_cast<int>(qHash(key, 0) % std::size_t{kNumColors}));
}

// The looks of all runs that are shown together with this one.
std::set<int> RunColors::othersOf(const QString& key) const {
    std::set<int> others;
    for (const auto& [place, keys] : shown_) {
        for (const QString& other : keys.contains(key) ? keys : QStringList()) {
            const auto look = looks_.constFind(other);
            if (other != key && look != looks_.constEnd()) {
                others.insert(*look);
            }
        }
    }
    return others;
}

bool RunColors::isShownTwice(const QString& key) const {
    return std::ranges::count_if(shown_,
                                 [&](const auto& place) { return place.second.contains(key); }) > 1;
}

void RunColors::keep(const QString& key, int look) {
    if (!looks_.contains(key)) {
        order_.append(key);
    }
    looks_.insert(key, look);
}

// `shown`: looks in use at the same place, which must not repeat; elsewhere repeats are only
// avoided.
void RunColors::choose(const QString& key, bool isBase, const std::set<int>& shown) {
    const std::set<int> others = othersOf(key);
    if (isBase && !shown.contains(kBase)) {
        keep(key, kBase);
        return;
    }
    const int wish = wishOf(key);
    const bool isKept = looks_.contains(key) && !shown.contains(wish);
    if (isKept && (wish < kNumColors || wish == kBase || isShownTwice(key))) {
        return;
    }
    // A run that got a dash because colours ran out gets a solid line when one is free.
    const int first = wish % kNumColors;
    std::optional<int> free = isKept ? std::optional(wish) : std::nullopt;
    for (int i = 0; i < (isKept ? kNumColors : kNumLooks); ++i) {
        const int look = i / kNumColors * kNumColors + (first + i) % kNumColors;
        if (shown.contains(look)) {
            continue;
        }
        if (!others.contains(look)) {
            keep(key, look);
            return;
        }
        free = free ? free : look;
    }
    keep(key, free.value_or(wish));
}

bool RunColors::assign(const std::string& place, const std::vector<Shown>& runs) {
    std::set<std::string> bases;
    for (const Shown& run : runs) {
        bases.insert(run.variationOf);
    }
    QStringList& here = shown_[place];
    const QStringList before = std::exchange(here, {});
    const QHash<QString, int> looksBefore = looks_;
    QStringList fresh;
    std::set<int> shown;
    for (const Shown& run : runs) {
        const QString key = QString::fromStdString(run.id);
        if (key.isEmpty() || here.contains(key)) {
            continue;
        }
        here.append(key);
        const auto known = looks_.constFind(key);
        const bool isRight =
            known != looks_.constEnd() && (*known == kBase || !bases.contains(run.id));
        if (!before.contains(key) || !isRight || !shown.insert(*known).second) {
            fresh.append(key);
        }
    }
    for (const QString& key : fresh) {
        choose(key, bases.contains(key.toStdString()), shown);
        shown.insert(looks_.value(key));
    }
    while (order_.size() > kMostColors) {
        looks_.remove(order_.takeFirst());
    }
    return std::ranges::any_of(fresh, [&](const QString& key) {
        const auto look = looksBefore.constFind(key);
        return look != looksBefore.constEnd() && *look != looks_.value(key);
    });
}

RunColors::Look RunColors::of(const std::string& runId) const {
    return lookOf(wishOf(QString::fromStdString(runId)));
}

void RunColors::save(QSettings& settings) const {
    QStringList texts;
    for (const QString& key : order_) {
        texts.append(key + '=' + QString::number(looks_.value(key)));
    }
    settings.setValue(kKey, texts);
}

void RunColors::restore(QSettings& settings) {
    looks_.clear();
    order_.clear();
    for (const QString& text : settings.value(kKey).toStringList()) {
        const qsizetype at = text.indexOf('=');
        bool isNumber = false;
        const int look = text.mid(at + 1).toInt(&isNumber);
        if (at > 0 && isNumber && look >= 0 && look <= kBase && !looks_.contains(text.left(at))) {
            keep(text.left(at), look);
        }
    }
}

}  // namespace millrace::gui
