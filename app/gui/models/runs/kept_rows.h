#pragma once
// KeptRows: rows of runs that keep their identity when the order changes.
//
// Views are notified of removals, one permutation, and insertions; selections and current rows move
// with their runs. For very scattered changes a reset is cheaper for the views. Threads: the GUI
// thread. Owns: the rows. Failure: none.
#include <QAbstractTableModel>
#include <functional>
#include <vector>

#include "app/gui/models/runs/run_order.h"

namespace millrace::gui {

class KeptRows : public QAbstractTableModel {
    Q_OBJECT

 public:
    using QAbstractTableModel::QAbstractTableModel;

    int numVariations(int row) const { return at(row).numVariations; }  ///< shown or folded
    int depth(int row) const { return at(row).depth; }
    bool isContext(int row) const { return at(row).isContext; }
    int sourceRow(int row) const { return at(row).source; }
    int rowCount(const QModelIndex& parent = {}) const override;

 protected:
    const std::vector<RunRow>& rows() const { return rows_; }
    int rowOfSource(int source) const;  ///< -1: not shown
    void moveTo(const std::vector<RunRow>& wanted);
    /// Calls `make` inside a model reset.
    void resetTo(const std::function<std::vector<RunRow>()>& make);
    /// Call before sources [first, last] are removed.
    void removeSources(int first, int last);
    /// Call after `count` sources from `first` on were removed: later ones have moved up.
    void shiftSources(int first, int count);
    /// Notifies the views that these rows, sorted, have changed cells.
    void announce(const std::vector<int>& sortedRows);

 private:
    const RunRow& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
    void indexRows();
    bool isTooScattered(const std::vector<RunRow>& wanted, const std::vector<int>& places) const;
    void removeStale(const std::vector<int>& places);
    void permute(const std::vector<RunRow>& wanted, const std::vector<int>& places);
    void insertFresh(const std::vector<RunRow>& wanted);
    void takeFlags(const std::vector<RunRow>& wanted);

    std::vector<RunRow> rows_;
    std::vector<int> rowOfSource_;  // -1: not shown; sources beyond its end are not shown either
};

}  // namespace millrace::gui
