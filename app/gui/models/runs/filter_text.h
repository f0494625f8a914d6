#pragma once
// Analyses the filter line: whether it holds plain words or the filter grammar, and its
// completions.
//
// The daemon parses the grammar itself (`millrace ls --filter`); this is only for typing. Threads:
// any.
#include <QString>
#include <QStringList>

namespace millrace::gui {

/// True if the daemon must parse it: it has an operator, or begins with an entity ("metrics.").
/// Plain words are searched in names, variations and ids.
bool isFilterExpression(const QString& text);

/// True if more letters could make it one: "sta", "state ", "name li", "since".
bool isFilterStart(const QString& text);

/// The names that a filter can use, beside its attributes.
struct FilterNames {
    QStringList metrics, params, tags;
};

struct FilterCompletion {
    int start = 0, length = 0;  ///< the range to replace
    QStringList candidates;     ///< best first; in the form to insert
};
/// Completions at the cursor: keys, operators, values of a state, AND.
FilterCompletion completeFilter(const QString& text, int cursor, const FilterNames& names);

/// The start of a clause to append: `metrics."eval/auc"` quotes names if it must.
QString filterKey(const QString& entity, const QString& name);

}  // namespace millrace::gui
