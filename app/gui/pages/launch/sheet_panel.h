#pragma once
// The variations as a table with its buttons: rows, columns, clipboard, ticks.
//
// Threads: the GUI thread. Owns: only widgets; the model is the page's.
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QToolButton>
#include <functional>

#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/models/spec/spec_completion.h"

class QCompleter;
class QHBoxLayout;
class QStringListModel;

namespace millrace::gui {

class MessageStrip;

/// A table that forwards its own keys (copy, paste, delete, duplicate) to the panel.
class SheetView final : public QTableView {
    Q_OBJECT

 public:
    using QTableView::QTableView;

 Q_SIGNALS:
    void keyWanted(int key, Qt::KeyboardModifiers modifiers, bool& isTaken);

 protected:
    void keyPressEvent(QKeyEvent* event) override;
};

class SheetPanel final : public QFrame {
    Q_OBJECT

 public:
    explicit SheetPanel(SheetModel* model, QWidget* parent = nullptr);

    SheetView* view() const { return view_; }
    /// The keys that the field for a new column offers.
    void setKeys(const QStringList& keys);
    void setColumns(const KnownColumns& columns);

    void addRow();
    void duplicateRow();
    void removeRows() { model_.removeRows(chosenRows()); }
    void copy();
    void paste();
    void addColumn();
    void editCell();

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void buildHeader(QHBoxLayout* layout);
    void buildView();
    QToolButton* addButton(QHBoxLayout* layout, const QString& text, const QString& tip,
                           std::function<void()> onClick);
    bool onKey(int key, Qt::KeyboardModifiers modifiers);
    void showMenu(const QPoint& position);
    void showState();
    void fitColumns();
    std::vector<int> chosenRows() const;

    SheetModel& model_;
    SheetView* view_;
    QLabel *count_, *hint_;
    QLineEdit* keyField_;
    QStringListModel* keys_;
    QString shownWhy_;  ///< the last reason for the sheet's absence
    MessageStrip* message_;
    int numColumns_ = 0;
};

}  // namespace millrace::gui
