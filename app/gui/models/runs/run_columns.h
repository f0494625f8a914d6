#pragma once
// RunColumns: the columns that the table of runs shows: their order, widths and which are pinned
// left.
//
// A plain value that is stored in the settings. Pinned columns come before the others. Threads:
// any. Failure: unreadable settings give the usual columns.
#include <QSettings>
#include <QString>
#include <string>
#include <vector>

namespace millrace::gui {

struct ShownColumn {
    QString key;  ///< run_column.h
    int width = 0;
    bool isPinned = false;
    bool operator==(const ShownColumn&) const = default;
};

class RunColumns {
 public:
    /// State and name pinned, then the fields that every run has, loss and its curve.
    RunColumns();

    const std::vector<ShownColumn>& shown() const { return shown_; }
    std::vector<QString> keys() const;
    bool has(const QString& key) const;
    int numPinned() const;

    /// Adds it after the unpinned columns, or before `before`. Does nothing if it is shown already.
    void add(const QString& key, const QString& before = "");
    /// Does not remove the last column.
    void remove(const QString& key);
    void setPinned(const QString& key, bool isPinned);
    /// Moves it to the position of another column of the same side (pinned or not).
    void move(const QString& key, const QString& to);
    void setWidth(const QString& key, int width);
    /// The usual columns, plus the final and best values of these evaluation metrics.
    void reset(const std::vector<std::string>& evalMetrics);

    void save(QSettings& settings) const;
    /// Returns false, and changes nothing, if nothing was saved.
    bool restore(QSettings& settings);
    bool operator==(const RunColumns&) const = default;

 private:
    std::vector<ShownColumn>::iterator find(const QString& key);
    std::vector<ShownColumn> shown_;
};

}  // namespace millrace::gui
