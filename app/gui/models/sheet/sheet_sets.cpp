#include "app/gui/models/sheet/sheet_sets.h"

#include <QObject>
#include <utility>

#include "app/gui/models/spec/spec_syntax.h"

namespace millrace::gui {

bool SheetSets::take(const std::vector<std::string>& sets) {
    QHash<QString, QString> values;
    for (const std::string& set : sets) {
        const QString text = QString::fromStdString(set);
        values.insert(text.section(u'=', 0, 0).trimmed(), text.section(u'=', 1).trimmed());
    }
    return std::exchange(values_, values) != values;
}

QVariant SheetSets::cell(const QString& key, int role) const {
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
            return unquoted(values_.value(key));
        case Qt::ToolTipRole:
            return QObject::tr(
                       "%1 is set for this launch, over the spec and its variations; "
                       "change it below")
                .arg(key);
        default:
            return {};
    }
}

}  // namespace millrace::gui
