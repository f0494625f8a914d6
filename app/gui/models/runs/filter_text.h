#pragma once
// The filter line: whether it holds plain words or the filter grammar, and how to go on with it.
//
// The grammar itself is the daemon's (`millrace ls --filter`); here is only what typing needs.
// Threads: any.
#include <QString>
#include <QStringList>

namespace millrace::gui {

/// True where the daemon must read it: an operator is in it, or it begins with an entity
/// ("metrics."). Plain words are searched for in names, variations and ids.
bool isFilterExpression(const QString& text);

/// True where more letters may make it one: "sta", "state ", "name li", "since".
bool isFilterStart(const QString& text);

/// What can be named in a filter, beside its attributes.
struct FilterNames {
    QStringList metrics, params, tags;
};

struct FilterCompletion {
    int start = 0, length = 0;  ///< what is replaced
    QStringList candidates;     ///< best first; what they are inserted as
};
/// What can stand at the cursor: keys, operators, values of a state, AND.
FilterCompletion completeFilter(const QString& text, int cursor, const FilterNames& names);

/// A clause that can be appended: `metrics."eval/auc"` quotes names where it must.
QString filterKey(const QString& entity, const QString& name);

}  // namespace millrace::gui
