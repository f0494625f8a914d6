#pragma once
// Facts of one run as a table of two columns, divided into sections.
//
// Rows: a section's title (isSection), then its facts. A search keeps facts whose name or value
// contains the text. Marked facts are those that a variation or --set changed. Threads: the GUI
// thread.
#include <QSet>
#include <vector>

#include "app/gui/models/flat_table.h"
#include "app/gui/models/runs/run_facts.h"

namespace millrace::gui {

class FactTable : public FlatTable {
    Q_OBJECT

 public:
    enum Role { kIsSectionRole = Qt::UserRole + 1, kIsMarkedRole, kFullValueRole };
    explicit FactTable(QObject* parent = nullptr);

    void setFacts(std::vector<RunFact> facts, bool hasSections = true);
    void setSearch(const QString& text);
    /// Names of facts to be marked.
    void setMarked(QSet<QString> names);
    bool isSection(int row) const { return rows_[static_cast<std::size_t>(row)] < 0; }

    Qt::ItemFlags flags(const QModelIndex& index) const override;

 protected:
    int numRows() const override { return static_cast<int>(rows_.size()); }
    QVariant cell(int row, int column, int role) const override;

 private:
    void refill();
    QVariant factData(const RunFact& fact, int column, int role) const;

    std::vector<RunFact> facts_;
    std::vector<int> rows_;  ///< index of the fact; below 0: the title of fact -1 - n's section
    QString search_;
    QSet<QString> marked_;
    bool hasSections_ = true;
};

}  // namespace millrace::gui
