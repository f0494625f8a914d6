#include "app/gui/models/live/log_model.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QHash>
#include <QTimer>
#include <algorithm>
#include <deque>
#include <vector>

#include "app/gui/models/live/log_matcher.h"
#include "app/gui/models/live/log_ring.h"
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

struct LogModel::Parts {
    explicit Parts(const Options& options)
        : shown(options.numLinesMax, options.bytesMax),
          held(options.numLinesMax, options.bytesMax) {}

    bool passes(const LogRing::Line& line, std::string_view text) const {
        if (line.numMissing > 0) {
            return true;
        }
        if (filter.levelMin != values::LogLevel::kNone && line.filterLevel < filter.levelMin) {
            return false;
        }
        return (workerWanted < 0 || line.worker == workerWanted) && matcher.matches(text);
    }
    bool passesAll() const {
        return filter.levelMin == values::LogLevel::kNone && workerWanted == -1 &&
               matcher.isTrivial();
    }
    int codeOf(const std::string& worker);
    LogRing::Line lineOf(const values::LogLine& line);
    void appendGap(LogRing& ring, std::uint64_t count, std::vector<std::uint64_t>* passing);

    LogRing shown, held;
    std::deque<std::uint64_t> rows;  ///< ascending sequences of the lines that pass
    std::uint64_t nextSequence = 0;
    std::uint64_t filteredFrom = 0;  ///< lines below were not filtered yet
    bool isFiltering = false;
    LogFilter filter;
    TextMatcher matcher;
    int workerWanted = -1;  ///< -1: all; -2: a worker without lines so far
    QStringList workers;
    std::vector<std::string> workerNames;
    std::vector<values::LogLevel> lastLevel;  ///< by worker
    QHash<QString, int> workerCodes;
    int lastCode = -1;
    bool isPaused = false;
    std::uint64_t numHeld = 0, numReceived = 0, numDropped = 0, numEvicted = 0, heldLost = 0;
    QTimer slices;
};

int LogModel::Parts::codeOf(const std::string& worker) {
    // Lines come in long runs of one worker.
    if (lastCode >= 0 && workerNames[static_cast<std::size_t>(lastCode)] == worker) {
        return lastCode;
    }
    const QString name = QString::fromStdString(worker);
    const auto found = workerCodes.constFind(name);
    if (found != workerCodes.constEnd()) {
        lastCode = *found;
        return lastCode;
    }
    const int code = static_cast<int>(workers.size());
    workerCodes.insert(name, code);
    workers.push_back(name);
    workerNames.push_back(worker);
    lastLevel.push_back(values::LogLevel::kNone);
    if (name == filter.worker) {
        workerWanted = code;
    }
    lastCode = code;
    return code;
}

LogRing::Line LogModel::Parts::lineOf(const values::LogLine& line) {
    LogRing::Line result;
    result.timeMs = line.timeMs;
    result.worker = static_cast<std::uint16_t>(codeOf(line.worker));
    result.attempt = static_cast<std::int16_t>(line.attempt);
    result.isStderr = line.isStderr;
    result.level = line.level;
    values::LogLevel& last = lastLevel[result.worker];
    const bool isContinued = line.level == values::LogLevel::kNone && !line.text.empty() &&
                             (line.text.front() == ' ' || line.text.front() == '\t');
    if (!isContinued) {
        last = line.level;
    }
    result.filterLevel = last;
    return result;
}

void LogModel::Parts::appendGap(LogRing& ring, std::uint64_t count,
                                std::vector<std::uint64_t>* passing) {
    ring.append(nextSequence, LogRing::gap(count), {});
    if (passing != nullptr) {
        passing->push_back(nextSequence);
    }
    ++nextSequence;
}

LogModel::LogModel(QObject* parent) : LogModel(Options{}, parent) {}

LogModel::LogModel(const Options& options, QObject* parent)
    : QAbstractListModel(parent), parts_(std::make_unique<Parts>(options)) {
    parts_->slices.setSingleShot(true);
    parts_->slices.setInterval(0);
    connect(&parts_->slices, &QTimer::timeout, this, [this] { filterSlice(kSliceMs); });
}

LogModel::~LogModel() = default;

void LogModel::append(std::span<const values::LogLine> lines, std::uint64_t droppedLines) {
    Parts& p = *parts_;
    if (lines.empty() && droppedLines == 0) {
        return;
    }
    LogRing& ring = p.isPaused ? p.held : p.shown;
    std::vector<std::uint64_t> passing;
    std::vector<std::uint64_t>* const wanted = p.isPaused ? nullptr : &passing;
    if (droppedLines > 0) {
        p.appendGap(ring, droppedLines, wanted);
        p.numDropped += droppedLines;
    }
    const bool passesAll = p.passesAll();
    for (const values::LogLine& line : lines) {
        const LogRing::Line kept = p.lineOf(line);
        ring.append(p.nextSequence, kept, line.text);
        if (wanted != nullptr && (passesAll || p.passes(kept, line.text))) {
            passing.push_back(p.nextSequence);
        }
        ++p.nextSequence;
    }
    p.numReceived += lines.size();
    if (p.isPaused) {
        p.numHeld += lines.size();
        const std::uint64_t lost = p.held.evict();
        p.heldLost += lost;
        p.numEvicted += lost;
    } else {
        addRows(passing);
    }
    Q_EMIT statusChanged();
}

void LogModel::addRows(const std::vector<std::uint64_t>& sequences) {
    Parts& p = *parts_;
    if (!sequences.empty()) {
        const int first = rowCount();
        beginInsertRows({}, first, first + static_cast<int>(sequences.size()) - 1);
        p.rows.insert(p.rows.end(), sequences.begin(), sequences.end());
        endInsertRows();
    }
    evict();
}

// Rows are removed before their lines.
void LogModel::evict() {
    Parts& p = *parts_;
    const std::uint64_t firstKept = p.shown.sequenceAfterEviction();
    const auto kept = std::lower_bound(p.rows.begin(), p.rows.end(), firstKept);
    const auto count = static_cast<int>(kept - p.rows.begin());
    if (count > 0) {
        beginRemoveRows({}, 0, count - 1);
        p.rows.erase(p.rows.begin(), kept);
        p.numEvicted += p.shown.evict();
        endRemoveRows();
    } else {
        p.numEvicted += p.shown.evict();
    }
    p.filteredFrom = std::max(p.filteredFrom, firstKept);
}

void LogModel::clear() {
    Parts& p = *parts_;
    beginResetModel();
    p.shown.clear();
    p.held.clear();
    p.rows.clear();
    p.workers.clear();
    p.workerNames.clear();
    p.workerCodes.clear();
    p.lastCode = -1;
    p.lastLevel.clear();
    p.workerWanted = p.filter.worker.isEmpty() ? -1 : -2;
    p.isPaused = p.isFiltering = false;
    p.numHeld = p.numReceived = p.numDropped = p.numEvicted = p.heldLost = 0;
    p.filteredFrom = p.nextSequence;
    p.slices.stop();
    endResetModel();
    Q_EMIT statusChanged();
}

void LogModel::setFilter(const LogFilter& filter) {
    Parts& p = *parts_;
    if (filter == p.filter) {
        return;
    }
    p.filter = filter;
    p.matcher = TextMatcher(filter.text, filter.isRegex, filter.isCaseSensitive);
    p.workerWanted = filter.worker.isEmpty() ? -1 : p.workerCodes.value(filter.worker, -2);
    refilter();
}

void LogModel::refilter() {
    Parts& p = *parts_;
    beginResetModel();
    p.rows.clear();
    p.filteredFrom = p.nextSequence;
    p.isFiltering = !p.shown.isEmpty();
    endResetModel();
    filterSlice(kSliceMs);
}

// Filters lines from the newest backwards until the time is up.
void LogModel::filterSlice(double budgetMs) {
    Parts& p = *parts_;
    QElapsedTimer timer;
    timer.start();
    std::vector<std::uint64_t> found;  // descending
    const auto& blocks = p.shown.blocks();
    auto block = std::upper_bound(
        blocks.begin(), blocks.end(), p.filteredFrom,
        [](std::uint64_t value, const auto& b) { return value <= b->firstSequence; });
    bool isInTime = true;
    while (isInTime && block != blocks.begin()) {
        const LogRing::Block& b = **--block;
        std::size_t i = std::min<std::uint64_t>(b.lines.size(), p.filteredFrom - b.firstSequence);
        while (i > 0 && isInTime) {
            --i;
            if (p.passes(b.lines[i], b.textOf(b.lines[i]))) {
                found.push_back(b.firstSequence + i);
            }
            isInTime = i % kChunk != 0 || budgetMs < 0 ||
                       static_cast<double>(timer.nsecsElapsed()) < budgetMs * 1e6;
        }
        p.filteredFrom = b.firstSequence + i;
    }
    p.isFiltering = !blocks.empty() && p.filteredFrom > p.shown.firstSequence();
    if (!found.empty()) {
        beginInsertRows({}, 0, static_cast<int>(found.size()) - 1);
        p.rows.insert(p.rows.begin(), found.rbegin(), found.rend());
        endInsertRows();
    }
    if (p.isFiltering) {
        p.slices.start();
    }
    Q_EMIT statusChanged();
}

const LogFilter& LogModel::filter() const {
    return parts_->filter;
}

QString LogModel::filterError() const {
    return parts_->matcher.error();
}

bool LogModel::isFiltering() const {
    return parts_->isFiltering;
}

void LogModel::finishFiltering() {
    if (parts_->isFiltering) {
        filterSlice(-1);
    }
}

void LogModel::setPaused(bool isPaused) {
    Parts& p = *parts_;
    if (isPaused == p.isPaused) {
        return;
    }
    p.isPaused = isPaused;
    if (!isPaused) {
        release();
    }
    Q_EMIT statusChanged();
}

// Appends the held lines to the shown ones.
void LogModel::release() {
    Parts& p = *parts_;
    std::vector<std::uint64_t> passing;
    if (p.heldLost > 0) {
        // The sequence between the shown and the held lines is unused: it belonged to lost lines.
        p.shown.append(p.held.firstSequence() - 1, LogRing::gap(p.heldLost), {});
        passing.push_back(p.held.firstSequence() - 1);
        p.heldLost = 0;
    }
    p.numHeld = 0;
    const bool passesAll = p.passesAll();
    if (!passesAll) {
        p.shown.splice(p.held);
        p.numEvicted += p.shown.evict();
        refilter();
        return;
    }
    for (const auto& block : p.held.blocks()) {
        for (std::size_t i = 0; i < block->lines.size(); ++i) {
            passing.push_back(block->firstSequence + i);
        }
    }
    p.shown.splice(p.held);
    addRows(passing);
}

bool LogModel::isPaused() const {
    return parts_->isPaused;
}

std::uint64_t LogModel::numHeld() const {
    return parts_->numHeld;
}

std::uint64_t LogModel::numReceived() const {
    return parts_->numReceived;
}

std::uint64_t LogModel::numDropped() const {
    return parts_->numDropped;
}

std::uint64_t LogModel::numEvicted() const {
    return parts_->numEvicted;
}

std::size_t LogModel::numLines() const {
    return parts_->shown.numLines() + parts_->held.numLines();
}

std::size_t LogModel::bytesUsed() const {
    return parts_->shown.bytesUsed() + parts_->held.bytesUsed() +
           parts_->rows.size() * sizeof(std::uint64_t);
}

const QStringList& LogModel::workers() const {
    return parts_->workers;
}

LogRow LogModel::row(int row) const {
    const std::uint64_t sequence = parts_->rows[static_cast<std::size_t>(row)];
    const LogRing::Place place = parts_->shown.at(sequence);
    const LogRing::Line& line = *place.line;
    LogRow result;
    result.sequence = sequence;
    result.timeMs = line.timeMs;
    result.numMissing = line.numMissing;
    result.level = line.level;
    result.attempt = line.attempt;
    result.isStderr = line.isStderr;
    if (!result.isGap()) {
        result.worker = parts_->workerNames[line.worker];
        result.text = place.text();
    }
    return result;
}

int LogModel::rowOfSequence(std::uint64_t sequence) const {
    const auto& rows = parts_->rows;
    return static_cast<int>(std::lower_bound(rows.begin(), rows.end(), sequence) - rows.begin());
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
    return parent.isValid() ? 0 : static_cast<int>(parts_->rows.size());
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid) || role != Qt::DisplayRole) {
        return {};
    }
    const LogRow line = row(index.row());
    return line.isGap() ? missingText(line.numMissing) : qtext(line.text);
}

}  // namespace millrace::gui
