#pragma once
// A read-only table of facts: sections, names, values; Ctrl+C copies the selected ones.
//
// Threads: the GUI thread. Owns: its model.
#include <QTableView>

#include "app/gui/models/details/fact_table.h"

namespace millrace::gui {

class FactView final : public QTableView {
    Q_OBJECT

 public:
    FactView(const QString& accessibleName, QWidget* parent);
    FactTable& facts() const { return *facts_; }

 protected:
    void keyPressEvent(QKeyEvent* event) override;

 private:
    void spanSections();
    FactTable* facts_;
};

}  // namespace millrace::gui
