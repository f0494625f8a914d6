#pragma once
// One side of a step: the rows before it, or the rows after it, with the differences marked.
//
// Both sides of a comparison have the same rows, so that they scroll together; a side that lacks a
// row has a gap. Rows can be limited to changed ones. Threads: the GUI thread.
#include <QAbstractListModel>
#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "app/gui/models/data/sample_diff.h"

namespace millrace::gui {

class SampleModel final : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum class Side { kBefore, kAfter };
    /// For a cell: a CellState as int. For a column's header: the same (kAdded, kRemoved, kSame).
    static constexpr int kStateRole = Qt::UserRole;
    static constexpr int kIsNullRole = Qt::UserRole + 1;

    explicit SampleModel(Side side, QObject* parent = nullptr);
    /// Null: shows nothing.
    void setComparison(std::shared_ptr<const SampleComparison> comparison);
    void setOnlyChanges(bool isOn);
    Side side() const { return side_; }
    /// The row of the comparison at this row.
    const SampleDiff::Row& rowAt(int row) const;
    /// The first column that the step added or changed; -1: none.
    int firstMarkedColumn() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

 private:
    const values::SampleStage& stage() const;
    int placeOf(const SampleDiff::Row& row) const;
    CellState stateOf(const SampleDiff::Row& row, int column) const;
    CellState columnState(int column) const;
    QString otherValue(const SampleDiff::Row& row, int column) const;
    QVariant toolTip(const SampleDiff::Row& row, int column) const;
    void chooseRows();

    Side side_;
    std::shared_ptr<const SampleComparison> comparison_;
    std::vector<int> rows_;  // indices into the comparison's rows
    bool isOnlyChanges_ = false;
};

/// The recipe's steps in order, after the dataset.
class SampleStepsModel final : public QAbstractListModel {
    Q_OBJECT

 public:
    enum Role {
        kKindRole = Qt::UserRole,
        kTextRole,     ///< the step as written
        kEnabledRole,  ///< bool
        kRowsRole,     ///< "50 \u2192 31"
        kKeptRole      ///< 0 to 1: rows out by rows in
    };
    using QAbstractListModel::QAbstractListModel;
    void setStages(const std::vector<values::SampleStage>& stages);
    const values::SampleStage& stage(int row) const {
        return stages_[static_cast<std::size_t>(row)];
    }

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
    std::vector<values::SampleStage> stages_;
};

}  // namespace millrace::gui
