#pragma once
// The rows of the Runs page: the run table filtered, sorted, and variations nested under their
// base.
//
// A flat table over RunTable: a variation is a row below its base (depth 1) that folds away with
// it. A base that does not match while one of its variations does is shown as context. Changes of
// the table are told at once; a new order that they bring follows after `kOrderDelayMs`, so that
// rows do not dance. Rows keep their identity: selections and current rows move with them. Only
// setFilter with very scattered results, setTable and setNested reset the model.
//
// Column 0 is the tick (in the comparison or not); the others are named by the keys of
// run_column.h. Costs: a rebuild sorts one array of numbers, some ms for 10,000 runs.
// Threads: the GUI thread. Owns: order and fold states. Failure: none.
#include <QAbstractTableModel>
#include <QPointer>
#include <QSet>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "app/gui/models/runs/run_table.h"

namespace millrace::gui {

/// Which runs are shown. All parts must hold; an empty part holds for every run.
struct RunFilter {
    QStringList words;  ///< each in the name, the variation or the id, whatever the case
    std::optional<std::unordered_set<std::string>> ids;  ///< what the daemon found
    std::set<client::RunState> states;
    bool isEmpty() const { return words.isEmpty() && !ids && states.empty(); }
};

/// A variation's metric against its base's.
struct BaseDifference {
    /// kOtherRows: evaluated on other rows, not to be compared. kOtherTraining: a figure of the
    /// training rows, which are others; neither better nor worse.
    enum class Verdict {
        kBetter,
        kWorse,
        kSame,
        kNeutral,
        kOtherRows,
        kUnknownRows,
        kOtherTraining
    };
    double value = 0;  ///< the variation's minus the base's
    Verdict verdict = Verdict::kNeutral;
    double other = 0;  ///< what it is measured against
    /// One sentence for tool tips: "0.0021 better than the base (0.7913)".
    QString sentence;
};

class RunRows : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum Role { kIdRole = Qt::UserRole + 1, kDepthRole, kIsTickedRole, kIsContextRole, kSortRole };
    static constexpr int kTickColumn = 0;
    static constexpr int kOrderDelayMs = 400;

    explicit RunRows(RunTable& table, QObject* parent = nullptr);

    /// Another table (deleted runs). It must outlive its use here.
    void setTable(RunTable& table);
    RunTable& table() const { return *table_; }

    /// The columns behind the tick, in the order in which they were first asked for.
    void setColumns(const std::vector<QString>& keys);
    const std::vector<QString>& columnKeys() const { return keys_; }
    int columnOfKey(const QString& key) const;  ///< -1: not shown
    const RunColumn& columnAt(int column) const;

    void setSort(const QString& key, Qt::SortOrder order);
    const QString& sortKey() const { return sortKey_; }
    Qt::SortOrder sortOrder() const { return sortOrder_; }

    void setFilter(RunFilter filter);
    const RunFilter& filter() const { return filter_; }
    /// Runs that match, folded or not; context rows do not count.
    int numMatching() const { return numMatching_; }

    void setNested(bool isNested);
    bool isNested() const { return isNested_; }
    void setExpanded(const std::string& id, bool isExpanded);
    bool isExpanded(int row) const;
    void setAllExpanded(bool isExpanded);
    int numVariations(int row) const;  ///< shown or folded below this row
    int depth(int row) const { return entries_[static_cast<std::size_t>(row)].depth; }
    bool isContext(int row) const { return entries_[static_cast<std::size_t>(row)].isContext; }
    const QSet<QString>& folded() const { return folded_; }
    void setFolded(QSet<QString> ids);

    const client::RunSummary& run(int row) const;
    const std::string& idAt(int row) const { return run(row).id; }
    int rowOf(const std::string& id) const;  ///< -1: not shown
    int sourceRow(int row) const { return entries_[static_cast<std::size_t>(row)].source; }
    /// Against the base; nullopt where there is none or one of the values is missing.
    std::optional<BaseDifference> difference(int row, int column) const;

    void setTicked(const std::string& id, bool isTicked);
    void clearTicks();
    bool isTicked(const std::string& id) const;
    const std::vector<std::string>& ticked() const { return ticked_; }

    /// A header line and these rows, tabs between the columns; values in full.
    QString tsv(const std::vector<int>& rows, const std::vector<int>& columns) const;

    /// Applies a new order that is due now.
    void settle();
    /// The cells of a run's trend columns have something new to show.
    void announceTrend(const std::string& id);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;
    /// By the header: a click on a column.
    void sort(int column, Qt::SortOrder order) override;

 Q_SIGNALS:
    void ticksChanged();
    /// numMatching may be another.
    void matchesChanged();

 private:
    struct Entry {
        int source = 0, depth = 0, numVariations = 0;
        bool isContext = false;
    };
    void follow();
    void takeChanges(const QModelIndex& first, const QModelIndex& last);
    void takeRemoval(int first, int last);
    void shiftSources(int first, int count);
    void rebuild();
    std::vector<Entry> wanted();
    std::vector<char> matches() const;
    bool matchesWords(int source) const;
    std::vector<int> sortedRows() const;
    void sortAsSubmitted(std::vector<int>& variations) const;
    int baseOf(int source) const;  ///< -1: none
    void moveTo(std::vector<Entry> wanted);
    void removeStale(const std::vector<int>& places);
    void permute(const std::vector<Entry>& wanted, const std::vector<int>& places);
    void insertFresh(const std::vector<Entry>& wanted);
    void reset(std::vector<Entry> wanted);
    void indexRows();
    QString toolTip(int row, int column) const;

    RunTable* table_;
    std::vector<QString> keys_;
    std::vector<int> sources_;  // of the columns: in the table
    QString sortKey_ = "created";
    Qt::SortOrder sortOrder_ = Qt::DescendingOrder;
    RunFilter filter_;
    bool isNested_ = true;
    QSet<QString> folded_;
    std::vector<std::string> ticked_;
    std::vector<Entry> entries_;
    std::vector<int> rowOfSource_;  // -1: not shown
    int numMatching_ = 0;
    QTimer orderTimer_;
    std::vector<QMetaObject::Connection> connections_;
};

}  // namespace millrace::gui
