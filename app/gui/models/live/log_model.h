#pragma once
// The log of one run as rows: a bounded ring of lines, and the ones of them that a filter lets
// through.
//
// What a view sees (the rows) are the lines that pass the filter. A changed filter is applied from
// the newest line backwards in slices of a few milliseconds, so that the end of the log answers at
// once and the GUI thread never stalls; isFiltering() tells while older lines are still looked at.
//
// Bounded: beyond Options::numLinesMax or bytesMax the oldest lines leave, in blocks. While paused
// the shown rows stay and as many new lines again are held behind them; of those the oldest leave
// first. Lines that are missing (left out by the daemon, the bridge or while paused) stand as one
// row that says how many (LogRow::isGap).
//
// Threads: the GUI thread. Owns: the lines' text. Failure: none; a regular expression that cannot
// be read shows every line and says why in filterError().
#include <QAbstractListModel>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/values/log_line.h"

namespace millrace::gui {

class TextMatcher;

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
    std::uint64_t sequence = 0;  ///< its place in the whole log; stays the same
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
    ~LogModel() override;

    void append(std::span<const values::LogLine> lines, std::uint64_t droppedLines = 0);
    /// Another run: forgets every line and ends a pause; the filter stays.
    void clear();

    void setFilter(const LogFilter& filter);
    const LogFilter& filter() const;
    /// Why the regular expression cannot be read; empty: it can.
    QString filterError() const;
    bool isFiltering() const;
    /// Looks at every line that is left; for tests and for copying everything.
    void finishFiltering();

    /// New lines are counted and held, the rows stay as they are.
    void setPaused(bool isPaused);
    bool isPaused() const;
    std::uint64_t numHeld() const;  ///< lines that came since the pause began

    std::uint64_t numReceived() const;  ///< lines since the last clear()
    std::uint64_t numDropped() const;   ///< lines that never came (gaps), since the last clear()
    std::uint64_t numEvicted() const;   ///< lines that left because of the bound
    std::size_t numLines() const;       ///< lines kept, whatever the filter
    std::size_t bytesUsed() const;
    const QStringList& workers() const;  ///< in the order of their first line

    LogRow row(int row) const;
    /// The row with this sequence, or the next one behind it; rowCount() where there is none.
    int rowOfSequence(std::uint64_t sequence) const;
    /// The row at or after `from` (before it, with `isBackward`) that matches; goes round; -1:
    /// none.
    int find(const TextMatcher& what, int from, bool isBackward) const;
    /// The same for a line of this level or worse.
    int findLevel(values::LogLevel level, int from, bool isBackward) const;
    /// "2026-03-01 14:03:10.123  rank-0  error  text", one line a row.
    QString textOf(int firstRow, int lastRow) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 Q_SIGNALS:
    /// Counts, pause, workers, filtering or the filter's error have changed.
    void statusChanged();

 private:
    struct Parts;
    int search(const std::function<bool(const LogRow&)>& wanted, int from, bool isBackward) const;
    void addRows(const std::vector<std::uint64_t>& sequences);
    void evict();
    void refilter();
    void release();
    void filterSlice(double budgetMs);
    std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::gui
