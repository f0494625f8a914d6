#pragma once
// What is set over a spec for one launch ("batch.seed=144"), as the sheet's cells show it: it wins
// over the text and over every variation, so its cells are not edited.
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
    /// False where they are those of before.
    bool take(const std::vector<std::string>& sets);
    bool has(const QString& key) const { return values_.contains(key); }
    /// Of a key that it has: the value, and why the cell cannot be edited.
    QVariant cell(const QString& key, int role) const;

 private:
    QHash<QString, QString> values_;
};

}  // namespace millrace::gui
