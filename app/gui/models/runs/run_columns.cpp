#include "app/gui/models/runs/run_columns.h"

#include <QStringList>
#include <algorithm>

#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_column.h"

namespace millrace::gui {
namespace {

constexpr const char* kSetting = "columns";
constexpr int kLeastWidth = 40, kMostWidth = 2000;
constexpr std::size_t kMostColumns = 60;
constexpr std::size_t kMostEvalMetrics = 2;

ShownColumn shownOf(const QString& key, bool isPinned = false) {
    return {key, factsOf(key).width, isPinned};
}

}  // namespace

RunColumns::RunColumns() {
    reset({});
}

std::vector<QString> RunColumns::keys() const {
    std::vector<QString> keys;
    for (const ShownColumn& column : shown_) {
        keys.push_back(column.key);
    }
    return keys;
}

std::vector<ShownColumn>::iterator RunColumns::find(const QString& key) {
    return std::ranges::find_if(shown_,
                                [&](const ShownColumn& column) { return column.key == key; });
}

bool RunColumns::has(const QString& key) const {
    return const_cast<RunColumns*>(this)->find(key) != shown_.end();
}

int RunColumns::numPinned() const {
    return static_cast<int>(
        std::ranges::count_if(shown_, [](const ShownColumn& c) { return c.isPinned; }));
}

void RunColumns::add(const QString& key, const QString& before) {
    if (!has(key) && shown_.size() < kMostColumns) {
        const auto place = find(before);
        const bool isPinned = place != shown_.end() && place->isPinned;
        shown_.insert(place, shownOf(key, isPinned));
    }
}

void RunColumns::remove(const QString& key) {
    const auto place = find(key);
    if (place != shown_.end() && shown_.size() > 1) {
        shown_.erase(place);
    }
}

void RunColumns::setPinned(const QString& key, bool isPinned) {
    const auto place = find(key);
    if (place == shown_.end() || place->isPinned == isPinned) {
        return;
    }
    ShownColumn column = *place;
    column.isPinned = isPinned;
    shown_.erase(place);
    shown_.insert(shown_.begin() + numPinned(), column);
}

void RunColumns::move(const QString& key, const QString& to) {
    const auto from = find(key), target = find(to);
    if (from == shown_.end() || target == shown_.end() || from->isPinned != target->isPinned) {
        return;
    }
    if (from < target) {
        std::rotate(from, from + 1, target + 1);
    } else {
        std::rotate(target, from, from + 1);
    }
}

void RunColumns::setWidth(const QString& key, int width) {
    const auto place = find(key);
    if (place != shown_.end()) {
        place->width = std::clamp(width, kLeastWidth, kMostWidth);
    }
}

void RunColumns::reset(const std::vector<std::string>& evalMetrics) {
    shown_ = {shownOf("state", true), shownOf("name", true)};
    shown_.push_back(shownOf("variation"));
    // The metrics that runs are compared by come first: any evaluation before the training loss.
    std::size_t numEval = 0;
    for (const std::string& metric : evalMetrics) {
        if (values::senseOf(metric) != values::MetricSense::kUnknown &&
            numEval < kMostEvalMetrics) {
            const QString name = QString::fromStdString(metric);
            shown_.push_back(shownOf("metric:" + name));
            shown_.push_back(shownOf("best:" + name));
            if (++numEval == 1) {
                shown_.push_back(shownOf("trend:" + name));
            }
        }
    }
    if (numEval == 0) {
        shown_.push_back(shownOf("trend:loss"));
    }
    for (const char* key : {"metric:loss", "rate", "rows_trained", "duration", "started"}) {
        shown_.push_back(shownOf(key));
    }
}

void RunColumns::save(QSettings& settings) const {
    QStringList texts;
    for (const ShownColumn& column : shown_) {
        texts.append(QString("%1|%2|%3")
                         .arg(column.width)
                         .arg(column.isPinned ? "pinned" : "free", column.key));
    }
    settings.setValue(kSetting, texts);
}

bool RunColumns::restore(QSettings& settings) {
    std::vector<ShownColumn> pinned, others;
    for (const QString& text : settings.value(kSetting).toStringList()) {
        const QString widthText = text.section('|', 0, 0), pin = text.section('|', 1, 1);
        const QString key = text.section('|', 2);
        bool isNumber = false;
        const int width = widthText.toInt(&isNumber);
        const auto isSame = [&](const ShownColumn& column) { return column.key == key; };
        if (!isNumber || key.isEmpty() || pinned.size() + others.size() >= kMostColumns ||
            std::ranges::any_of(pinned, isSame) || std::ranges::any_of(others, isSame)) {
            continue;
        }
        const bool isPinned = pin == QLatin1String("pinned");
        (isPinned ? pinned : others)
            .push_back({key, std::clamp(width, kLeastWidth, kMostWidth), isPinned});
    }
    if (pinned.empty() && others.empty()) {
        return false;
    }
    shown_ = std::move(pinned);
    shown_.insert(shown_.end(), others.begin(), others.end());
    return true;
}

}  // namespace millrace::gui
