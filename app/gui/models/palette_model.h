#pragma once
// PaletteModel: the entries of the command palette that match a query, the best first.
//
// Threads: the GUI thread. Bounded: at most kMostShown rows. Failure: none.
#include <QAbstractListModel>
#include <QKeySequence>
#include <QString>
#include <functional>
#include <vector>

#include "app/gui/models/fuzzy_match.h"

namespace millrace::gui {

struct PaletteEntry {
    QString title;
    QString group;   ///< "Runs", "Go to", "Theme": searched as well, shown dim
    QString detail;  ///< beside the title, dim: a run's state, a path
    QKeySequence key;
    std::function<void()> run;
    bool isEnabled = true;
};

class PaletteModel final : public QAbstractListModel {
    Q_OBJECT

 public:
    enum Role { kEntryIndex = Qt::UserRole, kGroup, kDetail, kKeyText, kPlaces };
    static constexpr int kMostShown = 200;

    using QAbstractListModel::QAbstractListModel;
    /// Recently used entries (by title and group) come first while the query is empty.
    void setEntries(std::vector<PaletteEntry> entries);
    void setQuery(const QString& query);
    /// Returns null for a row outside the list.
    const PaletteEntry* entry(int row) const;
    void remember(int row);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
    struct Shown {
        int entry = 0;
        int score = 0;
        std::vector<int> places;  ///< in the title
    };
    void filter();

    std::vector<PaletteEntry> entries_;
    std::vector<Shown> shown_;
    QStringList lately_;  ///< newest first
    QString query_;
};

}  // namespace millrace::gui
