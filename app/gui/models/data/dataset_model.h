#pragma once
// A dataset for the Data page: its columns and its files as tables, its totals, and the
// distribution of its row group sizes.
//
// Values are the daemon's (DatasetReply); an unknown value is empty, never zero. Sort by
// Qt::UserRole (kSortRole). Threads: the GUI thread.
#include <QString>
#include <memory>
#include <vector>

#include "app/gui/models/flat_table.h"
#include "backend/values/inspection.h"

namespace millrace::gui {

inline constexpr int kSortRole = Qt::UserRole;
/// 0 to 1: length of the bar behind a figure; invalid: no bar.
inline constexpr int kShareRole = Qt::UserRole + 1;

struct DatasetTotals {
    QString format, files, rows, rowGroups, disk, decoded;
    QString ratio;  ///< "2.4x": decoded by disk; "" unknown
};
DatasetTotals totalsOf(const values::DatasetReply& reply);

class DatasetColumnsModel final : public FlatTable {
    Q_OBJECT

 public:
    enum Column {
        kName,
        kType,
        kNullable,
        kNulls,
        kMin,
        kMax,
        kDisk,
        kDecoded,
        kEncoding,
        kCodec,
        kNumColumns
    };
    explicit DatasetColumnsModel(QObject* parent = nullptr);
    void setReply(const values::DatasetReply& reply);
    void clear() { setReply({}); }

 protected:
    /// The columns, then a row for each column that is left out.
    int numRows() const override { return static_cast<int>(columns_.size() + leftOut_.size()); }
    QVariant cell(int row, int column, int role) const override;

 private:
    QVariant text(const values::ColumnInfo& facts, int column) const;
    QVariant sortKey(const values::ColumnInfo& facts, int column) const;
    QVariant share(const values::ColumnInfo& facts, int column) const;
    QString toolTip(const values::ColumnInfo& facts, int column) const;

    QVariant leftOut(const values::LeftOutColumn& left, int column, int role) const;

    std::vector<values::ColumnInfo> columns_;
    std::vector<values::LeftOutColumn> leftOut_;
    std::int64_t numRows_ = 0;
    double mostDisk_ = 0, mostDecoded_ = 0;
};

class DatasetFilesModel final : public FlatTable {
    Q_OBJECT

 public:
    enum Column { kPath, kRows, kRowGroups, kDisk, kStrip, kNumColumns };
    /// For kStrip: QList<double>, the share of each row group of the largest file, in order.
    static constexpr int kStripRole = Qt::UserRole + 2;
    explicit DatasetFilesModel(QObject* parent = nullptr);
    void setReply(const values::DatasetReply& reply);
    void clear() { setReply({}); }
    const values::DatasetFile& file(int row) const { return files_[static_cast<std::size_t>(row)]; }

 protected:
    int numRows() const override { return static_cast<int>(files_.size()); }
    QVariant cell(int row, int column, int role) const override;

 private:
    QVariant text(const values::DatasetFile& file, int column) const;
    QVariant sortKey(const values::DatasetFile& file, int column) const;
    QVariant strip(const values::DatasetFile& file) const;
    QString toolTip(const values::DatasetFile& file, int column) const;

    std::vector<values::DatasetFile> files_;
    QString prefix_;  ///< common directory of all paths, omitted from names
    double mostBytes_ = 0;
    std::int64_t mostRows_ = 0;
};

/// The number of row groups per size; decoded sizes if known, else those on disk.
struct RowGroupSizes {
    std::vector<double> edges, counts;
    bool isDecoded = false;
    double medianBytes = 0;
    std::int64_t numRowGroups = 0;
};
RowGroupSizes rowGroupSizes(const std::vector<values::DatasetFile>& files, int numBins = 16);

/// Rows of a table as tab-separated text, header first; tabs and line ends in cells become blanks.
QString tsvOf(const QAbstractItemModel& model, const std::vector<int>& rows,
              const std::vector<int>& columns);

}  // namespace millrace::gui
