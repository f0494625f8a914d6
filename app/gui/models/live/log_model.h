#pragma once
// LogModel: the log of one run as rows: a bounded ring of lines, of which a filter selects the
// rows.
//
// The rows are the lines that pass the filter. A changed filter is applied from the newest line
// backwards in slices of a few milliseconds, so that the end of the log is updated at once and the
// GUI thread never stalls; isFiltering() is true while older lines are pending.
//
// Bounded: beyond Options::numLinesMax or bytesMax the oldest lines are evicted, in blocks. While
// paused the shown rows stay and as many new lines again are held; the oldest of those are evicted
// first. Missing lines (left out by the daemon, the bridge or while paused) appear as one row with
// their number (LogRow::isGap).
//
// Threads: the GUI thread. Owns: the lines' text. Failure: none; with an invalid regular expression
// every line is shown and filterError() has the reason.
#include <QAbstractListModel>
#include <QHash>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/models/live/log_matcher.h"
#include "app/gui/models/live/log_ring.h"
#include "backend/values/log_line.h"

namespace millrace::gui {

struct LogFilter {
    QString text;  ///< empty: every line
    bool isRegex = false;
    bool isCaseSensitive = false;
    /// This level and worse; kNone: every line. An indented line without a level belongs to the
    /// line before it.
    values::LogLevel levelMin = values::LogLevel::kNone;
    QString worker;  ///< empty: all
    bool operator==(const LogFilter&) const = default;
};

/// One row. The views are valid until the model changes.
struct LogRow {
    std::uint64_t sequence = 0;  ///< position in the whole log; never changes
    std::int64_t timeMs = 0;
    std::string_view worker, text;  ///< UTF-8
    values::LogLevel level = values::LogLevel::kNone;
    int attempt = 0;
    bool isStderr = false;
    std::uint64_t numMissing = 0;
    bool isGap() const { return numMissing > 0; }
};

class LogModel : public QAbstractListModel {
    Q_OBJECT

 public:
    struct Options {
        std::size_t numLinesMax = 200'000;
        std::size_t bytesMax = std::size_t{64} << 20;
    };

    explicit LogModel(QObject* parent = nullptr);
    LogModel(const Options& options, QObject* parent);

    void append(std::span<const values::LogLine> lines, std::uint64_t droppedLines = 0);
    /// For another run: forgets every line and ends a pause; the filter stays.
    void clear();

    void setFilter(const LogFilter& filter);
    const LogFilter& filter() const { return filter_; }
    /// The error in the regular expression; empty: none.
    QString filterError() const { return matcher_.error(); }
    bool isFiltering() const { return isFiltering_; }
    /// Filters all pending lines; for tests and for copying everything.
    void finishFiltering();

    /// While paused, new lines are counted and held, and the rows do not change.
    void setPaused(bool isPaused);
    bool isPaused() const { return isPaused_; }
    std::uint64_t numHeld() const { return numHeld_; }  ///< lines received since the pause began

    std::uint64_t numReceived() const { return numReceived_; }  ///< lines since the last clear()
    /// Lines that were lost (gaps), since the last clear().
    std::uint64_t numDropped() const { return numDropped_; }
    /// Lines evicted because of the bound.
    std::uint64_t numEvicted() const { return numEvicted_; }
    /// Lines kept, with any filter.
    std::size_t numLines() const { return shown_.numLines() + held_.numLines(); }
    std::size_t bytesUsed() const;
    const QStringList& workers() const { return workers_; }  ///< in the order of their first line

    LogRow row(int row) const;
    /// The row with this sequence, or the next one after it; rowCount() if there is none.
    int rowOfSequence(std::uint64_t sequence) const;
    /// The row at or after `from` (before it, with `isBackward`) that matches; wraps around; -1:
    /// none.
    int find(const TextMatcher& what, int from, bool isBackward) const;
    /// The same for a line of this level or worse.
    int findLevel(values::LogLevel level, int from, bool isBackward) const;
    /// "2026-03-01 14:03:10.123  rank-0  error  text", one line per row.
    QString textOf(int firstRow, int lastRow) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 Q_SIGNALS:
    /// Counts, pause, workers, filtering or the filter's error have changed.
    void statusChanged();

 private:
    bool passes(const LogRing::Line& line, std::string_view text) const;
    bool passesAll() const;
    int codeOf(const std::string& worker);
    LogRing::Line lineOf(const values::LogLine& line);
    void appendGap(LogRing& ring, std::uint64_t count, std::vector<std::uint64_t>* passing);
    int search(const std::function<bool(const LogRow&)>& wanted, int from, bool isBackward) const;
    void addRows(const std::vector<std::uint64_t>& sequences);
    void evict();
    void refilter();
    void release();
    void filterSlice(double budgetMs);

    LogRing shown_, held_;
    std::deque<std::uint64_t> rows_;  // ascending sequences of the lines that pass
    std::uint64_t nextSequence_ = 0;
    std::uint64_t filteredFrom_ = 0;  // lines below were not filtered yet
    bool isFiltering_ = false;
    LogFilter filter_;
    TextMatcher matcher_;
    int workerWanted_ = -1;  // -1: all; -2: a worker without lines so far
    QStringList workers_;
    std::vector<std::string> workerNames_;
    std::vector<values::LogLevel> lastLevel_;  // by worker
    QHash<QString, int> workerCodes_;
    int lastCode_ = -1;
    bool isPaused_ = false;
    std::uint64_t numHeld_ = 0, numReceived_ = 0, numDropped_ = 0, numEvicted_ = 0, heldLost_ = 0;
    QTimer slices_;
};

}  // namespace millrace::gui
