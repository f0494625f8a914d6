#pragma once
// SheetSets: overrides of a spec for one launch ("batch.seed=144"), as the sheet's cells show them.
// They override the text and every variation, so their cells cannot be edited.
//
// Threads: the GUI thread.
#include <QHash>
#include <QString>
#include <QVariant>
#include <string>
#include <vector>

namespace millrace::gui {

class SheetSets {
 public:
    /// Returns false if they are unchanged.
    bool take(const std::vector<std::string>& sets);
    bool has(const QString& key) const { return values_.contains(key); }
    /// For an overridden key: the value, and why the cell cannot be edited.
    QVariant cell(const QString& key, int role) const;

 private:
    QHash<QString, QString> values_;
};

}  // namespace millrace::gui
