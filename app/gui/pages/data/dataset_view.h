#pragma once
// The upper half of the Data page: a dataset's totals, its columns, its files and the sizes of its
// row groups.
//
// Threads: the GUI thread.
#include <QWidget>

#include "app/gui/models/data/dataset_model.h"

class QLabel;
class QSettings;
class QSortFilterProxyModel;
class QSplitter;

namespace millrace::gui {

class Chart;
class DataTable;
class Figure;
class SearchField;

class DatasetView final : public QWidget {
    Q_OBJECT

 public:
    explicit DatasetView(QWidget* parent = nullptr);
    ~DatasetView() override;
    void setReply(const values::DatasetReply& reply);
    void clear();
    bool isEmpty() const { return columns_.rowCount() == 0; }
    void focusFilter();
    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

    DataTable* columnsTable() const { return columnsTable_; }
    DataTable* filesTable() const { return filesTable_; }
    SearchField* filter() const { return filter_; }

 Q_SIGNALS:
    void copied(int numRows);

 private:
    QWidget* makeTotals();
    QWidget* makeColumns();
    QWidget* makeFiles();
    DataTable* makeTable(QAbstractItemModel& model, QSortFilterProxyModel*& proxy, QWidget* parent);
    void showSizes();
    void showCounts();

    DatasetColumnsModel columns_;
    DatasetFilesModel files_;
    std::vector<values::DatasetFile> listed_;
    std::int64_t filesTotal_ = 0;
    QString format_;
    Figure *numFiles_ = nullptr, *numRows_ = nullptr, *numGroups_ = nullptr, *disk_ = nullptr,
           *decoded_ = nullptr, *ratio_ = nullptr;
    QSplitter* split_ = nullptr;
    QLabel *columnsTitle_ = nullptr, *filesTitle_ = nullptr;
    SearchField* filter_ = nullptr;
    DataTable *columnsTable_ = nullptr, *filesTable_ = nullptr;
    QSortFilterProxyModel *columnsProxy_ = nullptr, *filesProxy_ = nullptr;
    Chart* sizes_ = nullptr;
};

}  // namespace millrace::gui
