#include "app/gui/models/sheet/sheet_model.h"

#include <algorithm>

#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_completion.h"
#include "app/gui/models/spec/spec_local_check.h"

namespace millrace::gui {
namespace {

using spec::KeyType;

// The columns before the keys.
constexpr struct {
    const char *title, *tip;
} kFirstTitles[] = {
    {QT_TR_NOOP("Variation"), QT_TR_NOOP("Ticked ones are launched")},
    {QT_TR_NOOP("Reads"), QT_TR_NOOP("Rows that the plan reads, or what is wrong")},
    {QT_TR_NOOP("Keeps"),
     QT_TR_NOOP("Rows of an epoch that are left after the recipe, counted in some splits")},
    {QT_TR_NOOP("Positives"),
     QT_TR_NOOP("Kept rows with a label above 0: by head, with their share of the labelled")},
    {QT_TR_NOOP("Epoch, loader"),
     QT_TR_NOOP("Time that the loader takes for an epoch when the model never waits")}};

/// "1 file", "1,234 files".
QString counted(std::int64_t count, const QString& one, const QString& many) {
    return countText(static_cast<double>(count)) + u' ' + (count == 1 ? one : many);
}

/// The lengths of the common start and end.
std::pair<int, int> commonEnds(const QStringList& a, const QStringList& b) {
    const int most = static_cast<int>(std::min(a.size(), b.size()));
    int head = 0, tail = 0;
    while (head < most && a[head] == b[head]) {
        ++head;
    }
    while (tail < most - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
        ++tail;
    }
    return {head, tail};
}

QStringList rowNames(const Sheet& sheet) {
    QStringList names;
    for (const SheetRow& row : sheet.rows) {
        names << row.name;
    }
    return names;
}

}  // namespace

SheetModel::SheetModel(QObject* parent) : QAbstractTableModel(parent) {}

void SheetModel::setText(const QString& text) {
    SpecSyntax syntax(text);
    const Sheet sheet = readSheet(syntax);
    const bool isWhyNew = sheet.why != sheet_.why;
    QStringList columns = sheet.columns;
    for (const QString& own : ownColumns_) {
        if (!columns.contains(own)) {
            columns << own;
        }
    }
    found_.clear();
    showRows(std::move(syntax), sheet, columns);
    if (isWhyNew) {
        Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
    }
    Q_EMIT ticksChanged();
}

void SheetModel::showRows(SpecSyntax syntax, const Sheet& sheet, const QStringList& columns) {
    const auto [head, tail] = commonEnds(columns_, columns);
    const int oldEnd = static_cast<int>(columns_.size()) - tail;
    const int newEnd = static_cast<int>(columns.size()) - tail;
    const QStringList oldNames = rowNames(sheet_), newNames = rowNames(sheet);
    const auto [top, bottom] = commonEnds(oldNames, newNames);
    const int oldLast = static_cast<int>(oldNames.size()) - bottom;
    const int newLast = static_cast<int>(newNames.size()) - bottom;
    const bool isSameCount = oldLast == newLast;  // a renamed row keeps its identity
    // Rows and the text that they refer to change together.
    const auto take = [&] {
        syntax_ = std::move(syntax);
        steps_ = recipeSteps(syntax_);
        sheet_ = sheet;
    };
    if (oldEnd > head) {
        beginRemoveColumns({}, kFirstKey + head, kFirstKey + oldEnd - 1);
        columns_.erase(columns_.begin() + head, columns_.begin() + oldEnd);
        endRemoveColumns();
    }
    if (newEnd > head) {
        beginInsertColumns({}, kFirstKey + head, kFirstKey + newEnd - 1);
        columns_ = columns;
        endInsertColumns();
    }
    if (oldLast > top && !isSameCount) {
        beginRemoveRows({}, 1 + top, oldLast);
        sheet_.rows.erase(sheet_.rows.begin() + top, sheet_.rows.begin() + oldLast);
        endRemoveRows();
    }
    if (newLast > top && !isSameCount) {
        beginInsertRows({}, 1 + top, newLast);
        take();
        endInsertRows();
    } else {
        take();
    }
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void SheetModel::setSets(const std::vector<std::string>& sets) {
    if (sets_.take(sets)) {
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    }
}

void SheetModel::setErrors(const std::vector<values::SpecError>& errors) {
    errors_ = errors;
    placeErrors();
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int SheetModel::placeOf(const values::SpecError& error) const {
    return error.line > 0 ? placeAt(syntax_.text(), error.line, std::max(error.column, 1)) : -1;
}

void SheetModel::placeErrors() {
    found_.clear();
    for (const values::SpecError& error : errors_) {
        Found found;
        found.message = QString::fromStdString(error.message);
        const int place = placeOf(error);
        for (int row = 0; row < static_cast<int>(sheet_.rows.size()) && place >= 0; ++row) {
            const SheetRow& r = sheet_.rows[static_cast<std::size_t>(row)];
            const SyntaxNode& item = syntax_.node(r.node);
            if (place < item.entryBegin || place > item.end) {
                continue;
            }
            found.row = row + 1;
            for (const auto& [key, node] : r.cells) {
                const SyntaxNode& cell = syntax_.node(node);
                if (place >= cell.keyBegin && place <= std::max(cell.end, cell.keyEnd)) {
                    found.key = key;
                }
            }
        }
        for (int row = 0; row < static_cast<int>(sheet_.rows.size()) && found.row < 0; ++row) {
            const QString& name = sheet_.rows[static_cast<std::size_t>(row)].name;
            if (found.message.startsWith(QStringLiteral("variation '%1': ").arg(name))) {
                found.row = row + 1;
            }
        }
        if (found.row < 0) {
            found.row = 0;
            for (const QString& key : columns_) {
                const int node = baseNode(syntax_, key, steps_);
                if (node >= 0 && place >= syntax_.node(node).begin &&
                    place <= syntax_.node(node).end) {
                    found.key = key;
                }
            }
        }
        found_.push_back(std::move(found));
    }
}

void SheetModel::setRuns(const std::vector<values::CheckedRun>& runs, bool isCurrent) {
    if (!runs.empty()) {
        runs_.clear();
    }
    for (const values::CheckedRun& run : runs) {
        runs_.insert(QString::fromStdString(run.variation), run);
    }
    areRunsCurrent_ = isCurrent;
    Q_EMIT dataChanged(index(0, kCheckColumn), index(rowCount() - 1, kFirstKey - 1));
}

void SheetModel::setPreviews(QHash<QString, SheetPreview> previews) {
    previews_ = std::move(previews);
    Q_EMIT dataChanged(index(0, kKeptColumn), index(rowCount() - 1, kEpochColumn));
}

int SheetModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(sheet_.rows.size()) + 1;
}

int SheetModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kFirstKey + static_cast<int>(columns_.size());
}

QString SheetModel::nameOf(int row) const {
    return row <= 0 ? QString() : sheet_.rows[static_cast<std::size_t>(row - 1)].name;
}

QStringList SheetModel::names() const {
    return rowNames(sheet_);
}

QString SheetModel::keyOf(int column) const {
    return column < kFirstKey ? QString() : columns_.value(column - kFirstKey);
}

QString SheetModel::errorOf(int row, const QString& key) const {
    for (const Found& found : found_) {
        if (found.row == row && found.key == key) {
            return found.message;
        }
    }
    return {};
}

QString SheetModel::rowError(int row) const {
    for (const Found& found : found_) {
        if (found.row == row) {
            return found.message;
        }
    }
    return {};
}

QString SheetModel::baseText(const QString& key) const {
    return cellText(syntax_, baseNode(syntax_, key, steps_));
}

QVariant SheetModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) {
        return {};
    }
    if (role == kKeyRole) {
        return keyOf(index.column());
    }
    if (role == kIsTickedRole) {
        return isTicked(index.row());
    }
    switch (index.column()) {
        case kNameColumn:
            return nameData(index.row(), role);
        case kCheckColumn:
            return checkData(index.row(), role);
        case kKeptColumn:
        case kPositivesColumn:
        case kEpochColumn:
            return previewData(index.row(), index.column(), role);
        default:
            return cellData(index.row(), keyOf(index.column()), role);
    }
}

QVariant SheetModel::nameData(int row, int role) const {
    switch (role) {
        case Qt::DisplayRole:
            return isBase(row) ? QStringLiteral("base") : nameOf(row);
        case Qt::EditRole:
            return nameOf(row);
        case Qt::CheckStateRole:
            return isTicked(row) ? Qt::Checked : Qt::Unchecked;
        case kErrorRole:
            return errorOf(row, {});
        case Qt::ToolTipRole: {
            const QString error = errorOf(row, {});
            const QString what = isBase(row) ? tr("the spec without variations") : nameOf(row);
            return error.isEmpty() ? what : error;
        }
        default:
            return {};
    }
}

QString SheetModel::changesText(int row) const {
    if (isBase(row)) {
        return tr("the spec without variations");
    }
    QStringList keys;
    for (const auto& [key, node] : sheet_.rows[static_cast<std::size_t>(row - 1)].cells) {
        keys << key;
    }
    return keys.isEmpty() ? tr("changes nothing")
                          : tr("changes %1").arg(keys.join(QStringLiteral(", ")));
}

QString SheetModel::checkText(int row) const {
    if (!rowError(row).isEmpty()) {
        return QStringLiteral("error");
    }
    const auto run = runs_.constFind(nameOf(row));
    if (run == runs_.constEnd()) {
        return {};
    }
    return tr("%1 rows").arg(shortCountText(static_cast<double>(run->rows)));
}

QVariant SheetModel::checkData(int row, int role) const {
    switch (role) {
        case Qt::DisplayRole:
            return checkText(row);
        case kErrorRole:
            return rowError(row);
        case kIsDefaultRole:
            return !areRunsCurrent_;
        case Qt::ToolTipRole: {
            const QString error = rowError(row);
            const auto run = runs_.constFind(nameOf(row));
            if (!error.isEmpty()) {
                return error;
            }
            if (run == runs_.constEnd()) {
                return tr("Not checked by the daemon yet; %1").arg(changesText(row));
            }
            return tr("Reads %1 rows in %2 of %3; %4")
                .arg(countText(static_cast<double>(run->rows)),
                     counted(run->splits, QStringLiteral("split"), QStringLiteral("splits")),
                     counted(run->files, QStringLiteral("file"), QStringLiteral("files")),
                     changesText(row));
        }
        default:
            return {};
    }
}

QVariant SheetModel::previewData(int row, int column, int role) const {
    const SheetPreview preview =
        rowError(row).isEmpty() ? previews_.value(nameOf(row)) : SheetPreview();
    const PreviewFigure figure = column == kKeptColumn        ? PreviewFigure::kKept
                                 : column == kPositivesColumn ? PreviewFigure::kPositives
                                                              : PreviewFigure::kEpoch;
    switch (role) {
        case Qt::DisplayRole:
            return previewText(preview, figure);
        case Qt::ToolTipRole:
            return previewTip(preview, figure);
        case kErrorRole:
            return figure == PreviewFigure::kKept ? preview.why : QString();
        case kIsDefaultRole:
            return !areRunsCurrent_ || preview.state != SheetPreview::State::kKnown;
        default:
            return {};
    }
}

QVariant SheetModel::cellData(int row, const QString& key, int role) const {
    if (sets_.has(key)) {
        return role == kErrorRole ? QVariant(errorOf(row, key)) : sets_.cell(key, role);
    }
    const int node = isBase(row) ? baseNode(syntax_, key, steps_)
                                 : sheet_.rows[static_cast<std::size_t>(row - 1)].cell(key);
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole: {
            if (node >= 0 || !isBase(row) || role == Qt::EditRole) {
                return cellText(syntax_, node);
            }
            const Meaning meaning = changeMeaning(key, steps_);
            return meaning.key != nullptr ? unquoted(qtext(meaning.key->fallback)) : QString();
        }
        case kErrorRole:
            return errorOf(row, key);
        case kIsChangedRole:
            return !isBase(row) && node >= 0;
        case kIsDefaultRole:
            return isBase(row) && node < 0;
        case Qt::ToolTipRole: {
            const QString error = errorOf(row, key);
            if (!error.isEmpty()) {
                return error;
            }
            if (isBase(row) && node < 0) {
                return tr("%1 is not in the spec: its default is used").arg(key);
            }
            const QString text = cellText(syntax_, node);
            return node >= 0 ? text : tr("as the base: %1").arg(baseText(key));
        }
        default:
            return {};
    }
}

QVariant SheetModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    const QString key = keyOf(section);
    if (section < kFirstKey) {
        return role == Qt::DisplayRole   ? QVariant(tr(kFirstTitles[section].title))
               : role == Qt::ToolTipRole ? QVariant(tr(kFirstTitles[section].tip))
               : role == kKeyRole        ? QVariant(key)
                                         : QVariant();
    }
    if (role != Qt::ToolTipRole) {
        return role == Qt::DisplayRole || role == kKeyRole ? QVariant(key) : QVariant();
    }
    const Meaning meaning = changeMeaning(key, steps_);
    return meaning.key == nullptr ? key
                                  : QStringLiteral("%1: %2; %3")
                                        .arg(key, kindText(*meaning.key), qtext(meaning.key->doc));
}

Qt::ItemFlags SheetModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
    if (index.column() == kNameColumn) {
        flags |= Qt::ItemIsUserCheckable;
    }
    const bool isName = index.column() == kNameColumn && !isBase(index.row());
    const bool isCell =
        index.column() >= kFirstKey && !sets_.has(keyOf(index.column())) &&
        (!isBase(index.row()) || baseNode(syntax_, keyOf(index.column()), steps_) >= 0);
    return why().isEmpty() && (isName || isCell) ? flags | Qt::ItemIsEditable : flags;
}

SheetModel::EditorKind SheetModel::editorKind(const QModelIndex& index) const {
    const Meaning meaning = changeMeaning(keyOf(index.column()), steps_);
    if (meaning.role == Meaning::Role::kExpression || meaning.path == "labels.*") {
        return EditorKind::kExpression;
    }
    if (meaning.key == nullptr || index.column() < kFirstKey) {
        return EditorKind::kText;
    }
    switch (meaning.key->type) {
        case KeyType::kBool:
            return EditorKind::kBool;
        case KeyType::kChoice:
        case KeyType::kOrder:
            return EditorKind::kChoice;
        case KeyType::kInt:
        case KeyType::kReal:
        case KeyType::kSeed:
            return meaning.key->limits.word.empty() ? EditorKind::kNumber : EditorKind::kText;
        default:
            return EditorKind::kText;
    }
}

QStringList SheetModel::choices(const QModelIndex& index) const {
    QStringList out;
    for (const Completion& item : valueCompletions(syntax_, keyOf(index.column()), {})) {
        out << item.label;
    }
    return out;
}

bool SheetModel::isTicked(int row) const {
    return isBase(row) ? isBaseTicked_ : ticked_.contains(nameOf(row));
}

void SheetModel::setTicked(int row, bool isTicked) {
    if (isBase(row)) {
        isBaseTicked_ = isTicked;
    } else if (isTicked) {
        ticked_.insert(nameOf(row));
    } else {
        ticked_.remove(nameOf(row));
    }
    Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
    Q_EMIT ticksChanged();
}

void SheetModel::tickAll(bool isTicked) {
    isBaseTicked_ = isTicked;
    const QStringList all = names();
    ticked_ = isTicked ? QSet<QString>(all.begin(), all.end()) : QSet<QString>();
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    Q_EMIT ticksChanged();
}

std::vector<std::string> SheetModel::tickedVariations() const {
    std::vector<std::string> names;
    for (const SheetRow& row : sheet_.rows) {
        if (ticked_.contains(row.name)) {
            names.push_back(row.name.toStdString());
        }
    }
    return names;
}

int SheetModel::numTicked() const {
    return static_cast<int>(tickedVariations().size()) + (isBaseTicked_ ? 1 : 0);
}

QStringList SheetModel::tickedNames() const {
    QStringList names;
    for (const std::string& name : tickedVariations()) {
        names << QString::fromStdString(name);
    }
    return names;
}

void SheetModel::setTickedNames(const QStringList& names, bool isBase) {
    isBaseTicked_ = isBase;
    ticked_ = QSet<QString>(names.begin(), names.end());
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    Q_EMIT ticksChanged();
}

}  // namespace millrace::gui
