#pragma once
// SheetModel: the variations of the open spec as a table: one row for the base and each variation,
// one column for each key that they change.
//
// The text is the source of truth: the model reads it (setText). An edit emits a signal with text
// edits; the owner of the text applies them and passes the new text back. So undo and comments are
// the text's. The model itself owns only the ticks (variations to launch) and columns without a
// cell. Threads: the GUI thread. Failure: an edit that cannot be made changes nothing and refused()
// has the reason.
#include <QAbstractTableModel>
#include <QColor>
#include <QHash>
#include <QSet>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/gui/models/sheet/sheet_preview.h"
#include "app/gui/models/sheet/sheet_sets.h"
#include "app/gui/models/sheet/sheet_text.h"
#include "backend/values/inspection.h"

namespace millrace::gui {

class SheetModel final : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum Column {
        kNameColumn,
        kCheckColumn,  ///< the plan's rows, or the error
        kKeptColumn,   ///< these three: SheetPreview
        kPositivesColumn,
        kEpochColumn,
        kFirstKey
    };
    enum Role {
        kErrorRole = Qt::UserRole,  ///< the message of the cell; "" if fine
        kIsChangedRole,             ///< the variation sets this key
        kIsDefaultRole,             ///< for the base: not in the text, the reader's default
        kKeyRole,                   ///< the key path of the column
        kIsTickedRole
    };
    enum class EditorKind : std::uint8_t { kText, kBool, kChoice, kNumber, kExpression };

    explicit SheetModel(QObject* parent = nullptr);

    void setText(const QString& text);
    const SpecSyntax& syntax() const { return syntax_; }
    const Sheet& sheet() const { return sheet_; }
    /// Why the rows cannot be edited; "" if they can.
    const QString& why() const { return sheet_.why; }

    /// Overrides of the text and the variations: "batch.seed=144".
    void setSets(const std::vector<std::string>& sets);
    /// Sets errors of the reader or the daemon, and the runs that were planned.
    void setErrors(const std::vector<values::SpecError>& errors);
    void setRuns(const std::vector<values::CheckedRun>& runs, bool isCurrent);
    /// By the variation's name, "" for the base.
    void setPreviews(QHash<QString, SheetPreview> previews);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

    // Rows of variations; 0 is the base.
    QString nameOf(int row) const;  ///< "" for the base
    bool isBase(int row) const { return row == 0; }
    QStringList names() const;
    QString keyOf(int column) const;  ///< "" for the first columns
    EditorKind editorKind(const QModelIndex& index) const;
    QStringList choices(const QModelIndex& index) const;
    QString rowError(int row) const;

    /// Why the cell cannot have this value (the reader's own sentence); "" if it can.
    QString problemWith(const QModelIndex& index, const QString& value) const;

    void addRow(const QString& name = {});
    void duplicateRow(int row);
    void removeRows(const std::vector<int>& rows);
    /// Returns false if the key is not a path that a change may set.
    bool addColumn(const QString& key);
    void removeColumnOfKey(const QString& key);
    void clearCells(const QModelIndexList& cells);

    /// Pastes cells from the current one on; adds rows below the last. With a header line (its
    /// first cell is "name", or its cells are keys) columns are found by key and rows by name.
    bool paste(const QModelIndex& current, const QString& tsv);
    QString copy(const QModelIndexList& cells) const;

    void setTicked(int row, bool isTicked);
    void tickAll(bool isTicked);
    bool isTicked(int row) const;
    std::vector<std::string> tickedVariations() const;
    bool isBaseTicked() const { return isBaseTicked_; }
    int numTicked() const;
    /// Ticked names that the spec still has; to restore in another session.
    QStringList tickedNames() const;
    void setTickedNames(const QStringList& names, bool isBase);

 Q_SIGNALS:
    void textEdits(const millrace::gui::TextEdits& edits, const QString& what);
    void refused(const QString& sentence);
    void ticksChanged();

 private:
    struct Found {
        QString message;
        int row = -1;
        QString key;  ///< "": the whole row
    };
    void showRows(SpecSyntax syntax, const Sheet& sheet, const QStringList& columns);
    void placeErrors();
    int placeOf(const values::SpecError& error) const;
    QVariant nameData(int row, int role) const;
    QVariant checkData(int row, int role) const;
    QVariant previewData(int row, int column, int role) const;
    QVariant cellData(int row, const QString& key, int role) const;
    QString checkText(int row) const;
    QString changesText(int row) const;
    QString errorOf(int row, const QString& key) const;
    QString baseText(const QString& key) const;
    bool edit(const TextEdits& edits, const QString& what);
    TextEdits cellEdit(const QModelIndex& index, const QString& value) const;
    bool pasteWithHeader(const std::vector<QStringList>& rows);
    bool pasteCells(const QModelIndex& current, const std::vector<QStringList>& rows);
    QString nameProblem(int row, const QString& name) const;

    SpecSyntax syntax_;
    Sheet sheet_;
    std::vector<RecipeStep> steps_;
    QStringList columns_, ownColumns_;
    std::vector<values::SpecError> errors_;
    std::vector<Found> found_;
    QHash<QString, values::CheckedRun> runs_;
    QHash<QString, SheetPreview> previews_;
    SheetSets sets_;
    bool areRunsCurrent_ = false, isBaseTicked_ = true;
    QSet<QString> ticked_;
};

}  // namespace millrace::gui
