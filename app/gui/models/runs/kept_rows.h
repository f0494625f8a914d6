#pragma once
// Rows of runs that keep their identity from one order to the next.
//
// What is told to the views: removals, one permutation, insertions; selections and current rows
// move with their runs. With very scattered changes a reset is cheaper for the views.
// Threads: the GUI thread. Owns: the rows. Failure: none.
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
    /// `make` is called while the views know that everything changes.
    void resetTo(const std::function<std::vector<RunRow>()>& make);
    /// Before sources [first, last] go.
    void removeSources(int first, int last);
    /// After `count` sources from `first` on have gone: those behind them have moved up.
    void shiftSources(int first, int count);
    /// The cells of all these rows, sorted, have something new to show.
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
    std::vector<int> rowOfSource_;  // -1: not shown; sources behind its end are not shown either
};

}  // namespace millrace::gui
