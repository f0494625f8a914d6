#pragma once
// The variations of a spec as rows and cells, and edits of them as edits of the text.
//
// An edit touches only what it is about: comments, order and formatting of everything else stay.
// Edits of one call do not overlap and are in the order of the text. Threads: any; pure functions.
// Failure: an edit that cannot be made is empty; why() of the sheet says why it cannot be edited.
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
    int listNode = -1;    ///< of `variations`; -1: the spec has none
    QString why;          ///< why it cannot be edited; "" it can
};
Sheet readSheet(const SpecSyntax& syntax);

/// What a cell shows: the text without quotes, or a list or map in one line.
QString cellText(const SpecSyntax& syntax, int node);

class SheetEditor {
 public:
    SheetEditor(const SpecSyntax& syntax, const Sheet& sheet)
        : syntax_(syntax), sheet_(sheet), steps_(recipeSteps(syntax)) {}

    /// `value`: as cellText() shows it; "" removes the change.
    TextEdits setCell(int row, const QString& key, const QString& value) const;
    /// Of the base: replaces a value that the text has.
    TextEdits setBase(const QString& key, const QString& value) const;
    TextEdits rename(int row, const QString& name) const;
    using Cells = std::vector<std::pair<QString, QString>>;
    struct NewRow {
        QString name;
        Cells cells;
    };
    /// Behind the last one.
    TextEdits append(const std::vector<NewRow>& rows) const;
    /// A copy as it is written, behind the row.
    TextEdits duplicate(int row, const QString& name) const;
    TextEdits remove(const std::vector<int>& rows) const;
    TextEdits removeColumn(const QString& key) const;

    /// A value of a cell as it is to be written at this place.
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

/// Line and column (code points, from 1) as a place in UTF-16.
int placeAt(const QString& text, int line, int column);

/// "keep-30" -> "keep-30-2": the first name that none of `taken` has.
QString freeName(const QString& wanted, const QStringList& taken);

}  // namespace millrace::gui
