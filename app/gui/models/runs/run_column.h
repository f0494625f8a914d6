#pragma once
// RunColumn: one typed column of the run table: a field, a metric's newest or best value, a
// parameter, a tag.
//
// A key identifies a column: "state", "rows_trained", "metric:loss", "best:eval.auc", "low:x",
// "high:x", "trend:loss", "param:batch.rows", "tag:team". Numbers are stored as doubles (NaN:
// none), texts as codes of a dictionary, so that 10,000 rows are sorted by one array of integers.
// Threads: the GUI thread. Failure: an unknown key gives a column of empty texts.
#include <QHash>
#include <QString>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::gui {

enum class RunColumnKind : std::uint8_t {
    kText,
    kState,
    kNumber,    ///< as numberText
    kCount,     ///< rows, steps
    kRate,      ///< per second
    kTime,      ///< ms since 1970
    kDuration,  ///< ms
    kTrend      ///< a sparkline; not sortable
};

enum class RunColumnSource : std::uint8_t {
    kField,
    kMetric,
    kBest,
    kLow,
    kHigh,
    kTrend,
    kParam,
    kTag
};

/// The properties of a column that follow from its key.
struct RunColumnInfo {
    QString key;
    RunColumnSource source = RunColumnSource::kField;
    RunColumnKind kind = RunColumnKind::kText;
    QString title;     ///< "Samples/s"
    QString tip;       ///< one sentence
    std::string name;  ///< of the metric, parameter or tag
    int field = -1;    ///< the index in fieldKeys()
    int width = 110;   ///< pixels at 100 %
    bool isNumeric() const { return kind != RunColumnKind::kText && kind != RunColumnKind::kTrend; }
};
RunColumnInfo factsOf(const QString& key);
/// The keys of the fields that every run has, in the order of the column chooser.
const std::vector<QString>& fieldKeys();

/// The value of a field as a number (NaN: none) or as text; also for metrics and tags.
double fieldNumber(const RunColumnInfo& facts, const values::RunSummary& run, std::int64_t nowMs);
std::string fieldText(const RunColumnInfo& facts, const values::RunSummary& run);

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

class RunColumn {
 public:
    explicit RunColumn(const QString& key);

    const RunColumnInfo& facts() const { return facts_; }
    std::size_t size() const { return facts_.isNumeric() ? numbers_.size() : codes_.size(); }
    void resize(std::size_t numRows);
    void remove(std::size_t first, std::size_t count);
    /// Returns true if the value has changed.
    bool setNumber(std::size_t row, double value);
    bool setText(std::size_t row, const QString& text);

    double number(std::size_t row) const;  ///< a text as a number, or NaN
    const QString& text(std::size_t row) const;
    bool isEmpty(std::size_t row) const;
    /// Sort key: rows sort by it, ascending. Empty ones are equal and last in either direction.
    double sortKey(std::size_t row) const;
    /// The text of a cell; "" for none.
    QString display(std::size_t row, std::int64_t nowMs) const;

 private:
    void rank() const;

    RunColumnInfo facts_;
    std::vector<double> numbers_;
    std::vector<int> codes_;
    std::vector<QString> dictionary_ = {QString()};  ///< code 0: none
    QHash<QString, int> codeOf_;
    mutable std::vector<double> ranks_;  ///< of the dictionary; valid if as long
};

/// Formats a value of a kind.
QString displayText(RunColumnKind kind, double value, std::int64_t nowMs);

}  // namespace millrace::gui
