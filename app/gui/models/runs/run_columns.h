#pragma once
// Which columns the table of runs shows: their order, widths and which are pinned to the left.
//
// A plain value that settings remember. Pinned columns stand before the others. Threads: any.
// Failure: stored text that cannot be read gives the usual columns.
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
    /// State and name pinned, then what every run has, loss and its curve.
    RunColumns();

    const std::vector<ShownColumn>& shown() const { return shown_; }
    std::vector<QString> keys() const;
    bool has(const QString& key) const;
    int numPinned() const;

    /// At the end of the unpinned ones, or in front of `before`. Nothing where it is shown already.
    void add(const QString& key, const QString& before = "");
    /// The last one stays.
    void remove(const QString& key);
    void setPinned(const QString& key, bool isPinned);
    /// To the place of another column of the same side (pinned or not).
    void move(const QString& key, const QString& to);
    void setWidth(const QString& key, int width);
    /// The usual columns, with the final and best values of these evaluation metrics.
    void reset(const std::vector<std::string>& evalMetrics);

    void save(QSettings& settings) const;
    /// False, and nothing changed, where nothing was saved.
    bool restore(QSettings& settings);
    bool operator==(const RunColumns&) const = default;

 private:
    std::vector<ShownColumn>::iterator find(const QString& key);
    std::vector<ShownColumn> shown_;
};

}  // namespace millrace::gui
