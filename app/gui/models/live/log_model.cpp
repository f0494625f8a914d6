#include "app/gui/models/live/log_model.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <algorithm>
#include <vector>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr double kSliceMs = 4;
constexpr std::size_t kChunk = 256;

QString levelWord(values::LogLevel level) {
    switch (level) {
        case values::LogLevel::kDebug:
            return QStringLiteral("debug");
        case values::LogLevel::kInfo:
            return QStringLiteral("info");
        case values::LogLevel::kWarn:
            return QStringLiteral("warn");
        case values::LogLevel::kError:
            return QStringLiteral("error");
        case values::LogLevel::kNone:
            break;
    }
    return QStringLiteral("-");
}

QString missingText(std::uint64_t count) {
    return count == 1 ? QStringLiteral("1 line is missing here")
                      : QStringLiteral("%1 lines are missing here").arg(count);
}

}  // namespace

bool LogModel::passes(const LogRing::Line& line, std::string_view text) const {
    if (line.numMissing > 0) {
        return true;
    }
    if (filter_.levelMin != values::LogLevel::kNone && line.filterLevel < filter_.levelMin) {
        return false;
    }
    return (workerWanted_ < 0 || line.worker == workerWanted_) && matcher_.matches(text);
}

bool LogModel::passesAll() const {
    return filter_.levelMin == values::LogLevel::kNone && workerWanted_ == -1 &&
           matcher_.isTrivial();
}

int LogModel::codeOf(const std::string& worker) {
    // Lines come in long runs of one worker.
    if (lastCode_ >= 0 && workerNames_[static_cast<std::size_t>(lastCode_)] == worker) {
        return lastCode_;
    }
    const QString name = QString::fromStdString(worker);
    const auto found = workerCodes_.constFind(name);
    if (found != workerCodes_.constEnd()) {
        lastCode_ = *found;
        return lastCode_;
    }
    const int code = static_cast<int>(workers_.size());
    workerCodes_.insert(name, code);
    workers_.push_back(name);
    workerNames_.push_back(worker);
    lastLevel_.push_back(values::LogLevel::kNone);
    if (name == filter_.worker) {
        workerWanted_ = code;
    }
    lastCode_ = code;
    return code;
}

LogRing::Line LogModel::lineOf(const values::LogLine& line) {
    LogRing::Line result;
    result.timeMs = line.timeMs;
    result.worker = static_cast<std::uint16_t>(codeOf(line.worker));
    result.attempt = static_cast<std::int16_t>(line.attempt);
    result.isStderr = line.isStderr;
    result.level = line.level;
    values::LogLevel& last = lastLevel_[result.worker];
    const bool isContinued = line.level == values::LogLevel::kNone && !line.text.empty() &&
                             (line.text.front() == ' ' || line.text.front() == '\t');
    if (!isContinued) {
        last = line.level;
    }
    result.filterLevel = last;
    return result;
}

void LogModel::appendGap(LogRing& ring, std::uint64_t count, std::vector<std::uint64_t>* passing) {
    ring.append(nextSequence_, LogRing::gap(count), {});
    if (passing != nullptr) {
        passing->push_back(nextSequence_);
    }
    ++nextSequence_;
}

LogModel::LogModel(QObject* parent) : LogModel(Options{}, parent) {}

LogModel::LogModel(const Options& options, QObject* parent)
    : QAbstractListModel(parent),
      shown_(options.numLinesMax, options.bytesMax),
      held_(options.numLinesMax, options.bytesMax) {
    slices_.setSingleShot(true);
    slices_.setInterval(0);
    connect(&slices_, &QTimer::timeout, this, [this] { filterSlice(kSliceMs); });
}

void LogModel::append(std::span<const values::LogLine> lines, std::uint64_t droppedLines) {
    if (lines.empty() && droppedLines == 0) {
        return;
    }
    LogRing& ring = isPaused_ ? held_ : shown_;
    std::vector<std::uint64_t> passing;
    std::vector<std::uint64_t>* const wanted = isPaused_ ? nullptr : &passing;
    if (droppedLines > 0) {
        appendGap(ring, droppedLines, wanted);
        numDropped_ += droppedLines;
    }
    const bool isUnfiltered = passesAll();
    for (const values::LogLine& line : lines) {
        const LogRing::Line kept = lineOf(line);
        ring.append(nextSequence_, kept, line.text);
        if (wanted != nullptr && (isUnfiltered || passes(kept, line.text))) {
            passing.push_back(nextSequence_);
        }
        ++nextSequence_;
    }
    numReceived_ += lines.size();
    if (isPaused_) {
        numHeld_ += lines.size();
        const std::uint64_t lost = held_.evict();
        heldLost_ += lost;
        numEvicted_ += lost;
    } else {
        addRows(passing);
    }
    Q_EMIT statusChanged();
}

void LogModel::addRows(const std::vector<std::uint64_t>& sequences) {
    if (!sequences.empty()) {
        const int first = rowCount();
        beginInsertRows({}, first, first + static_cast<int>(sequences.size()) - 1);
        rows_.insert(rows_.end(), sequences.begin(), sequences.end());
        endInsertRows();
    }
    evict();
}

// Rows are removed before their lines.
void LogModel::evict() {
    const std::uint64_t firstKept = shown_.sequenceAfterEviction();
    const auto kept = std::lower_bound(rows_.begin(), rows_.end(), firstKept);
    const auto count = static_cast<int>(kept - rows_.begin());
    if (count > 0) {
        beginRemoveRows({}, 0, count - 1);
        rows_.erase(rows_.begin(), kept);
        numEvicted_ += shown_.evict();
        endRemoveRows();
    } else {
        numEvicted_ += shown_.evict();
    }
    filteredFrom_ = std::max(filteredFrom_, firstKept);
}

void LogModel::clear() {
    beginResetModel();
    shown_.clear();
    held_.clear();
    rows_.clear();
    workers_.clear();
    workerNames_.clear();
    workerCodes_.clear();
    lastCode_ = -1;
    lastLevel_.clear();
    workerWanted_ = filter_.worker.isEmpty() ? -1 : -2;
    isPaused_ = isFiltering_ = false;
    numHeld_ = numReceived_ = numDropped_ = numEvicted_ = heldLost_ = 0;
    filteredFrom_ = nextSequence_;
    slices_.stop();
    endResetModel();
    Q_EMIT statusChanged();
}

void LogModel::setFilter(const LogFilter& filter) {
    if (filter == filter_) {
        return;
    }
    filter_ = filter;
    matcher_ = TextMatcher(filter.text, filter.isRegex, filter.isCaseSensitive);
    workerWanted_ = filter.worker.isEmpty() ? -1 : workerCodes_.value(filter.worker, -2);
    refilter();
}

void LogModel::refilter() {
    beginResetModel();
    rows_.clear();
    filteredFrom_ = nextSequence_;
    isFiltering_ = !shown_.isEmpty();
    endResetModel();
    filterSlice(kSliceMs);
}

// Filters lines from the newest backwards until the time is up.
void LogModel::filterSlice(double budgetMs) {
    QElapsedTimer timer;
    timer.start();
    std::vector<std::uint64_t> found;  // descending
    const auto& blocks = shown_.blocks();
    auto block = std::upper_bound(
        blocks.begin(), blocks.end(), filteredFrom_,
        [](std::uint64_t value, const auto& b) { return value <= b->firstSequence; });
    bool isInTime = true;
    while (isInTime && block != blocks.begin()) {
        const LogRing::Block& b = **--block;
        std::size_t i = std::min<std::uint64_t>(b.lines.size(), filteredFrom_ - b.firstSequence);
        while (i > 0 && isInTime) {
            --i;
            if (passes(b.lines[i], b.textOf(b.lines[i]))) {
                found.push_back(b.firstSequence + i);
            }
            isInTime = i % kChunk != 0 || budgetMs < 0 ||
                       static_cast<double>(timer.nsecsElapsed()) < budgetMs * 1e6;
        }
        filteredFrom_ = b.firstSequence + i;
    }
    isFiltering_ = !blocks.empty() && filteredFrom_ > shown_.firstSequence();
    if (!found.empty()) {
        beginInsertRows({}, 0, static_cast<int>(found.size()) - 1);
        rows_.insert(rows_.begin(), found.rbegin(), found.rend());
        endInsertRows();
    }
    if (isFiltering_) {
        slices_.start();
    }
    Q_EMIT statusChanged();
}

void LogModel::finishFiltering() {
    if (isFiltering_) {
        filterSlice(-1);
    }
}

void LogModel::setPaused(bool isPaused) {
    if (isPaused == isPaused_) {
        return;
    }
    isPaused_ = isPaused;
    if (!isPaused) {
        release();
    }
    Q_EMIT statusChanged();
}

// Appends the held lines to the shown ones.
void LogModel::release() {
    std::vector<std::uint64_t> passing;
    if (heldLost_ > 0) {
        // The sequence between the shown and the held lines is unused: it belonged to lost lines.
        shown_.append(held_.firstSequence() - 1, LogRing::gap(heldLost_), {});
        passing.push_back(held_.firstSequence() - 1);
        heldLost_ = 0;
    }
    numHeld_ = 0;
    if (!passesAll()) {
        shown_.splice(held_);
        numEvicted_ += shown_.evict();
        refilter();
        return;
    }
    for (const auto& block : held_.blocks()) {
        for (std::size_t i = 0; i < block->lines.size(); ++i) {
            passing.push_back(block->firstSequence + i);
        }
    }
    shown_.splice(held_);
    addRows(passing);
}

std::size_t LogModel::bytesUsed() const {
    return shown_.bytesUsed() + held_.bytesUsed() + rows_.size() * sizeof(std::uint64_t);
}

LogRow LogModel::row(int row) const {
    const std::uint64_t sequence = rows_[static_cast<std::size_t>(row)];
    const LogRing::Place place = shown_.at(sequence);
    const LogRing::Line& line = *place.line;
    LogRow result;
    result.sequence = sequence;
    result.timeMs = line.timeMs;
    result.numMissing = line.numMissing;
    result.level = line.level;
    result.attempt = line.attempt;
    result.isStderr = line.isStderr;
    if (!result.isGap()) {
        result.worker = workerNames_[line.worker];
        result.text = place.text();
    }
    return result;
}

int LogModel::rowOfSequence(std::uint64_t sequence) const {
    return static_cast<int>(std::ranges::lower_bound(rows_, sequence) - rows_.begin());
}

int LogModel::search(const std::function<bool(const LogRow&)>& wanted, int from,
                     bool isBackward) const {
    const int count = rowCount();
    if (count == 0) {
        return -1;
    }
    const int start = ((from % count) + count) % count;
    for (int i = 0; i < count; ++i) {
        const int at = isBackward ? (start - i + count) % count : (start + i) % count;
        const LogRow candidate = row(at);
        if (!candidate.isGap() && wanted(candidate)) {
            return at;
        }
    }
    return -1;
}

int LogModel::find(const TextMatcher& what, int from, bool isBackward) const {
    if (what.isTrivial()) {
        return -1;
    }
    return search([&](const LogRow& line) { return what.matches(line.text); }, from, isBackward);
}

int LogModel::findLevel(values::LogLevel level, int from, bool isBackward) const {
    return search([&](const LogRow& line) { return line.level >= level; }, from, isBackward);
}

QString LogModel::textOf(int firstRow, int lastRow) const {
    QString result;
    for (int i = std::max(0, firstRow); i <= std::min(lastRow, rowCount() - 1); ++i) {
        const LogRow line = row(i);
        if (line.isGap()) {
            result += missingText(line.numMissing);
        } else {
            result += QDateTime::fromMSecsSinceEpoch(line.timeMs)
                          .toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz")) +
                      QStringLiteral("  ") + qtext(line.worker) + QStringLiteral("  ") +
                      levelWord(line.level) + QStringLiteral("  ") + qtext(line.text);
        }
        result += QLatin1Char('\n');
    }
    return result;
}

int LogModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid) || role != Qt::DisplayRole) {
        return {};
    }
    const LogRow line = row(index.row());
    return line.isGap() ? missingText(line.numMissing) : qtext(line.text);
}

}  // namespace millrace::gui
