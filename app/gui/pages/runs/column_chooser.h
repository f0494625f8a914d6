#pragma once
// ColumnChooser: chooses the columns of the table of runs: every field, metric, parameter and tag,
// with a search.
//
// A pop-up beside its button; a tick shows or hides a column at once, the pin keeps it at the left.
// Keys: type to search, Down into the list, Space shows or hides, P pins, Escape closes. Threads:
// the GUI thread. Owns: its list.
#include <QFrame>
#include <QString>
#include <string>
#include <vector>

#include "app/gui/models/runs/run_columns.h"

class QListWidget;
class QListWidgetItem;

namespace millrace::gui {

class SearchField;

/// A possible column.
struct ColumnOffer {
    std::vector<std::string> metrics, params, tags;
};

class ColumnChooser final : public QFrame {
    Q_OBJECT

 public:
    ColumnChooser(const RunColumns& columns, const ColumnOffer& offer, QWidget* parent);
    const RunColumns& columns() const { return columns_; }
    void setSearch(const QString& text);
    /// The keys that match the search, in order.
    std::vector<QString> offered() const;

 Q_SIGNALS:
    void changed(const millrace::gui::RunColumns& columns);
    void resetAsked();

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void build();
    void addGroup(const QString& title, const std::vector<QString>& keys);
    void toggle(QListWidgetItem& item);
    void pin(QListWidgetItem& item);
    void showItem(QListWidgetItem& item);
    void search(const QString& text);

    RunColumns columns_;
    SearchField* search_ = nullptr;
    QListWidget* list_ = nullptr;
    bool isFilling_ = false;
};

}  // namespace millrace::gui
