#pragma once
// Reads the variations of a spec as rows and cells, and turns edits of them into edits of the text.
//
// An edit changes nothing else: comments, order and formatting of the rest stay. Edits of one call
// do not overlap and are in the order of the text. Threads: any; pure functions. Failure: an edit
// that cannot be made is empty; the sheet's `why` explains why it cannot be edited.
#include <QHash>
#include <QString>
#include <QStringList>
#include <utility>
#include <vector>

#include "app/gui/models/spec/spec_meaning.h"
#include "app/gui/models/spec/spec_syntax.h"
#include "app/gui/models/spec/text_edit.h"

namespace millrace::gui {

struct SheetRow {
    QString name;
    int node = -1, nameNode = -1, setNode = -1;
    std::vector<std::pair<QString, int>> cells;  ///< key path and the node of its value

    int cell(const QString& key) const;  ///< the node; -1: the row does not change it
};

struct Sheet {
    std::vector<SheetRow> rows;
    QStringList columns;  ///< the keys, in order of appearance
    int listNode = -1;    ///< the node of `variations`; -1: the spec has none
    QString why;          ///< why it cannot be edited; "" if it can
};
Sheet readSheet(const SpecSyntax& syntax);

/// The text of a cell: without quotes, or a list or map in one line.
QString cellText(const SpecSyntax& syntax, int node);

class SheetEditor {
 public:
    SheetEditor(const SpecSyntax& syntax, const Sheet& sheet)
        : syntax_(syntax), sheet_(sheet), steps_(recipeSteps(syntax)) {}

    /// `value`: as cellText() returns it; "" removes the change.
    TextEdits setCell(int row, const QString& key, const QString& value) const;
    /// For the base: replaces a value that the text has.
    TextEdits setBase(const QString& key, const QString& value) const;
    TextEdits rename(int row, const QString& name) const;
    using Cells = std::vector<std::pair<QString, QString>>;
    struct NewRow {
        QString name;
        Cells cells;
    };
    /// Appends rows after the last one.
    TextEdits append(const std::vector<NewRow>& rows) const;
    /// Copies a row as it is written, after that row.
    TextEdits duplicate(int row, const QString& name) const;
    TextEdits remove(const std::vector<int>& rows) const;
    TextEdits removeColumn(const QString& key) const;

    /// A cell's value as it must be written at this position.
    QString written(const QString& key, const QString& value, bool isFlow) const;

 private:
    TextEdits setExisting(const SheetRow& row, int node, const QString& key,
                          const QString& value) const;
    TextEdits addTo(const SheetRow& row, const Cells& cells) const;
    TextEdits removeFrom(const SheetRow& row, int node) const;
    TextEdit removeFlowEntry(int node) const;
    TextEdit removeLines(int node) const;
    TextEdit replaceValue(int node, const QString& text) const;
    QString keptQuotes(const SyntaxNode& old, const QString& text) const;
    QString rowText(const NewRow& row) const;
    QString indentOf(int place) const;

    const SpecSyntax& syntax_;
    const Sheet& sheet_;
    const std::vector<RecipeStep> steps_;
};

/// Converts line and column (code points, from 1) to a UTF-16 position.
int placeAt(const QString& text, int line, int column);

/// "keep-30" -> "keep-30-2": the first name that is not in `taken`.
QString freeName(const QString& wanted, const QStringList& taken);

}  // namespace millrace::gui
