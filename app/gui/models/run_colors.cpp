#include "app/gui/models/run_colors.h"

#include <QStringList>
#include <algorithm>

namespace millrace::gui {
namespace {

constexpr int kMostColors = 500;
constexpr const char* kKey = "runs/colors";

}  // namespace

const std::vector<QColor>& RunColors::palette() {
    static const std::vector<QColor> kPalette = {
        QColor(0x00, 0x72, 0xb2), QColor(0xe6, 0x9f, 0x00), QColor(0x00, 0x9e, 0x73),
        QColor(0xd5, 0x5e, 0x00), QColor(0x56, 0xb4, 0xe9), QColor(0xcc, 0x79, 0xa7)};
    return kPalette;
}

void RunColors::assign(const std::vector<std::string>& runIds) {
    const int size = static_cast<int>(palette().size());
    std::vector<int> uses(static_cast<std::size_t>(2 * size));
    std::vector<QString> fresh;
    for (const std::string& id : runIds) {
        const QString key = QString::fromStdString(id);
        const auto known = places_.constFind(key);
        if (known == places_.constEnd()) {
            fresh.push_back(key);
        } else {
            ++uses[static_cast<std::size_t>(*known)];
        }
    }
    for (const QString& key : fresh) {
        const int wish = static_cast<int>(qHash(key, 0) % static_cast<std::size_t>(size));
        int best = wish;
        for (int i = 0; i < 2 * size; ++i) {
            const int place = i < size ? (wish + i) % size : size + (wish + i) % size;
            if (uses[static_cast<std::size_t>(place)] < uses[static_cast<std::size_t>(best)]) {
                best = place;
            }
        }
        ++uses[static_cast<std::size_t>(best)];
        places_.insert(key, best);
        order_.append(key);
    }
    while (order_.size() > kMostColors) {
        places_.remove(order_.takeFirst());
    }
}

RunColors::Look RunColors::of(const std::string& runId) const {
    const int size = static_cast<int>(palette().size());
    const QString key = QString::fromStdString(runId);
    const int place =
        places_.value(key, static_cast<int>(qHash(key, 0) % static_cast<std::size_t>(size)));
    return {palette()[static_cast<std::size_t>(place % size)], place >= size};
}

void RunColors::save(QSettings& settings) const {
    QStringList texts;
    for (const QString& key : order_) {
        texts.append(key + '=' + QString::number(places_.value(key)));
    }
    settings.setValue(kKey, texts);
}

void RunColors::restore(QSettings& settings) {
    places_.clear();
    order_.clear();
    const int most = 2 * static_cast<int>(palette().size());
    for (const QString& text : settings.value(kKey).toStringList()) {
        const int at = text.indexOf('=');
        bool isNumber = false;
        const int place = text.mid(at + 1).toInt(&isNumber);
        if (at > 0 && isNumber && place >= 0 && place < most && !places_.contains(text.left(at))) {
            places_.insert(text.left(at), place);
            order_.append(text.left(at));
        }
    }
}

}  // namespace millrace::gui
