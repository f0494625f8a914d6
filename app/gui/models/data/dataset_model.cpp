#include "app/gui/models/data/dataset_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

QString optionalBytes(const std::optional<std::uint64_t>& bytes) {
    return bytes.has_value() ? bytesText(static_cast<double>(*bytes)) : noneText();
}

QVariant optionalNumber(const std::optional<std::uint64_t>& value) {
    return value.has_value() ? QVariant(static_cast<double>(*value)) : QVariant(-1.0);
}

QString percentText(double share) {
    if (share > 0 && share < 0.0005) {
        return QStringLiteral("< 0.1 %");
    }
    const double percent = share * 100;
    const bool isWhole = percent == std::round(percent) || (percent >= 10 && percent < 99);
    return QString::number(percent, 'f', isWhole ? 0 : 1) + QStringLiteral(" %");
}

QString nullsText(const values::ColumnInfo& facts, std::int64_t numRows) {
    if (!facts.nulls.has_value()) {
        return noneText();
    }
    const QString count = countText(static_cast<double>(*facts.nulls));
    if (*facts.nulls == 0 || numRows <= 0) {
        return count;
    }
    return count + QStringLiteral("  (") +
           percentText(static_cast<double>(*facts.nulls) / static_cast<double>(numRows)) + ')';
}

QString orNone(const std::string& text) {
    return text.empty() ? noneText() : qtext(text);
}

// Numbers as numbers, other texts unchanged: minimum and maximum arrive as text.
QVariant naturalKey(const std::string& text) {
    bool isNumber = false;
    const double number = qtext(text).toDouble(&isNumber);
    return isNumber ? QVariant(number) : QVariant(qtext(text));
}

// The common parent directory of all files, with its slash.
QString sharedDirectory(const std::vector<values::DatasetFile>& files) {
    if (files.empty()) {
        return {};
    }
    QString shared = qtext(files.front().path);
    shared.truncate(shared.lastIndexOf('/') + 1);
    for (const values::DatasetFile& file : files) {
        while (!shared.isEmpty() && !qtext(file.path).startsWith(shared)) {
            shared.chop(1);
            shared.truncate(shared.lastIndexOf('/') + 1);
        }
    }
    return shared;
}

constexpr FlatTable::ColumnSpec kColumnColumns[] = {{word::kColumn.label},
                                                    {word::kType.label},
                                                    {QT_TRANSLATE_NOOP("FlatTable", "Nullable")},
                                                    {word::kNulls.label, Qt::AlignRight},
                                                    {word::kMin.label},
                                                    {word::kMax.label},
                                                    {word::kOnDisk.label, Qt::AlignRight},
                                                    {word::kDecoded.label, Qt::AlignRight},
                                                    {word::kEncoding.label},
                                                    {word::kCodec.label}};
static_assert(std::size(kColumnColumns) == DatasetColumnsModel::kNumColumns);

constexpr FlatTable::ColumnSpec kFileColumns[] = {
    {QT_TRANSLATE_NOOP("FlatTable", "File")},
    {QT_TRANSLATE_NOOP("FlatTable", "Rows"), Qt::AlignRight},
    {QT_TRANSLATE_NOOP("FlatTable", "Groups"), Qt::AlignRight},
    {word::kOnDisk.label, Qt::AlignRight},
    {QT_TRANSLATE_NOOP("FlatTable", "Sizes")}};
static_assert(std::size(kFileColumns) == DatasetFilesModel::kNumColumns);

std::vector<double> sizesOf(const std::vector<values::DatasetFile>& files, bool isDecoded) {
    std::vector<double> sizes;
    for (const values::DatasetFile& file : files) {
        for (const values::RowGroupInfo& group : file.rowGroups) {
            sizes.push_back(static_cast<double>(isDecoded ? group.decodedBytes : group.diskBytes));
        }
    }
    return sizes;
}

}  // namespace

DatasetTotals totalsOf(const values::DatasetReply& reply) {
    DatasetTotals totals;
    totals.format = qtext(reply.format);
    totals.files = countText(static_cast<double>(reply.filesTotal));
    totals.rows = countText(static_cast<double>(reply.rows));
    std::int64_t rowGroups = reply.rowGroups;
    if (rowGroups == 0 && static_cast<std::int64_t>(reply.files.size()) == reply.filesTotal) {
        // The parts into which reading splits a CSV file.
        for (const values::DatasetFile& file : reply.files) {
            rowGroups += static_cast<std::int64_t>(file.rowGroups.size());
        }
    }
    totals.rowGroups = rowGroups > 0 ? countText(static_cast<double>(rowGroups)) : noneText();
    totals.disk = bytesText(static_cast<double>(reply.bytes));
    totals.decoded = optionalBytes(reply.decodedBytes);
    // Text is not compressed: a ratio to the bytes of its values would suggest that it is.
    if (reply.decodedBytes.has_value() && reply.bytes > 0 && reply.format != "csv") {
        const double ratio =
            static_cast<double>(*reply.decodedBytes) / static_cast<double>(reply.bytes);
        totals.ratio = QString::number(ratio, 'f', ratio < 10 ? 1 : 0) + QChar(0x00d7);
    }
    return totals;
}

DatasetColumnsModel::DatasetColumnsModel(QObject* parent) : FlatTable(kColumnColumns, parent) {}

void DatasetColumnsModel::setReply(const values::DatasetReply& reply) {
    beginResetModel();
    columns_ = reply.columns;
    leftOut_ = reply.leftOut;
    numRows_ = reply.rows;
    mostDisk_ = mostDecoded_ = 0;
    for (const values::ColumnInfo& column : columns_) {
        mostDisk_ = std::max(mostDisk_, static_cast<double>(column.diskBytes.value_or(0)));
        mostDecoded_ = std::max(mostDecoded_, static_cast<double>(column.decodedBytes.value_or(0)));
    }
    endResetModel();
}

QVariant DatasetColumnsModel::cell(int row, int column, int role) const {
    const auto place = static_cast<std::size_t>(row);
    if (place >= columns_.size()) {
        return leftOut(leftOut_[place - columns_.size()], column, role);
    }
    const values::ColumnInfo& facts = columns_[place];
    switch (role) {
        case Qt::DisplayRole:
            return text(facts, column);
        case kSortRole:
            return sortKey(facts, column);
        case kShareRole:
            return share(facts, column);
        case Qt::ToolTipRole:
            return toolTip(facts, column);
        default:
            return {};
    }
}

QVariant DatasetColumnsModel::leftOut(const values::LeftOutColumn& left, int column,
                                      int role) const {
    switch (role) {
        case kSortRole:
            if (column == kNulls || column == kDisk || column == kDecoded) {
                return -1.0;
            }
            [[fallthrough]];
        case Qt::DisplayRole:
            return column == kName   ? qtext(left.name)
                   : column == kType ? tr("left out")
                                     : noneText();
        case Qt::ToolTipRole:
            return tr("%1 %2").arg(qtext(left.name), qtext(left.why));
        default:
            return {};
    }
}

QVariant DatasetColumnsModel::text(const values::ColumnInfo& facts, int column) const {
    switch (column) {
        case kName:
            return qtext(facts.name);
        case kType:
            return qtext(facts.type);
        case kNullable:
            return facts.isNullable ? QStringLiteral("yes") : QStringLiteral("no");
        case kNulls:
            return nullsText(facts, numRows_);
        case kMin:
            return orNone(facts.min);
        case kMax:
            return orNone(facts.max);
        case kDisk:
            return optionalBytes(facts.diskBytes);
        case kDecoded:
            return optionalBytes(facts.decodedBytes);
        case kEncoding:
            return orNone(facts.encoding);
        case kCodec:
            return orNone(facts.codec);
        default:
            return {};
    }
}

QVariant DatasetColumnsModel::sortKey(const values::ColumnInfo& facts, int column) const {
    switch (column) {
        case kNulls:
            return facts.nulls.has_value() ? QVariant(static_cast<double>(*facts.nulls))
                                           : QVariant(-1.0);
        case kMin:
            return naturalKey(facts.min);
        case kMax:
            return naturalKey(facts.max);
        case kDisk:
            return optionalNumber(facts.diskBytes);
        case kDecoded:
            return optionalNumber(facts.decodedBytes);
        default:
            return text(facts, column);
    }
}

QVariant DatasetColumnsModel::share(const values::ColumnInfo& facts, int column) const {
    if (column == kNulls && facts.nulls.has_value() && numRows_ > 0) {
        return static_cast<double>(*facts.nulls) / static_cast<double>(numRows_);
    }
    if (column == kDisk && facts.diskBytes.has_value() && mostDisk_ > 0) {
        return static_cast<double>(*facts.diskBytes) / mostDisk_;
    }
    if (column == kDecoded && facts.decodedBytes.has_value() && mostDecoded_ > 0) {
        return static_cast<double>(*facts.decodedBytes) / mostDecoded_;
    }
    return {};
}

QString DatasetColumnsModel::toolTip(const values::ColumnInfo& facts, int column) const {
    if (column == kName && facts.diskBytes.has_value() && facts.decodedBytes.has_value() &&
        *facts.diskBytes > 0) {
        const double ratio =
            static_cast<double>(*facts.decodedBytes) / static_cast<double>(*facts.diskBytes);
        return qtext(facts.name) + tr("\n%1 on disk, %2 decoded: %3\u00d7")
                                       .arg(optionalBytes(facts.diskBytes),
                                            optionalBytes(facts.decodedBytes),
                                            QString::number(ratio, 'f', 1));
    }
    const QString all = text(facts, column).toString();
    return all == noneText() ? tr("The files do not say") : all;
}

DatasetFilesModel::DatasetFilesModel(QObject* parent) : FlatTable(kFileColumns, parent) {}

void DatasetFilesModel::setReply(const values::DatasetReply& reply) {
    beginResetModel();
    files_ = reply.files;
    prefix_ = sharedDirectory(files_);
    mostBytes_ = 0;
    mostRows_ = 0;
    for (const values::DatasetFile& file : files_) {
        mostBytes_ = std::max(mostBytes_, static_cast<double>(file.bytes));
        mostRows_ = std::max(mostRows_, file.rows);
    }
    endResetModel();
}

QVariant DatasetFilesModel::cell(int row, int column, int role) const {
    const values::DatasetFile& facts = file(row);
    switch (role) {
        case Qt::DisplayRole:
            return text(facts, column);
        case kSortRole:
            return sortKey(facts, column);
        case kShareRole:
            return column == kDisk && mostBytes_ > 0
                       ? QVariant(static_cast<double>(facts.bytes) / mostBytes_)
                       : QVariant();
        case kStripRole:
            return column == kStrip ? strip(facts) : QVariant();
        case Qt::ToolTipRole:
            return toolTip(facts, column);
        default:
            return {};
    }
}

QVariant DatasetFilesModel::text(const values::DatasetFile& file, int column) const {
    switch (column) {
        case kPath:
            return qtext(file.path).mid(prefix_.size());
        case kRows:
            return countText(static_cast<double>(file.rows));
        case kRowGroups:
            return file.rowGroups.empty() ? noneText()
                                          : countText(static_cast<double>(file.rowGroups.size()));
        case kDisk:
            return bytesText(static_cast<double>(file.bytes));
        default:
            return {};
    }
}

QVariant DatasetFilesModel::sortKey(const values::DatasetFile& file, int column) const {
    switch (column) {
        case kRows:
            return static_cast<double>(file.rows);
        case kRowGroups:
        case kStrip:
            return static_cast<double>(file.rowGroups.size());
        case kDisk:
            return static_cast<double>(file.bytes);
        default:
            return text(file, column);
    }
}

QVariant DatasetFilesModel::strip(const values::DatasetFile& file) const {
    QList<double> shares;
    for (const values::RowGroupInfo& group : file.rowGroups) {
        shares.append(
            mostRows_ > 0 ? static_cast<double>(group.rows) / static_cast<double>(mostRows_) : 0);
    }
    return QVariant::fromValue(shares);
}

QString DatasetFilesModel::toolTip(const values::DatasetFile& file, int column) const {
    if (column != kStrip || file.rowGroups.empty()) {
        return qtext(file.path);
    }
    std::vector<double> rows;
    for (const values::RowGroupInfo& group : file.rowGroups) {
        rows.push_back(static_cast<double>(group.rows));
    }
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end());
    return tr("%1 row groups of %2 to %3 rows")
        .arg(countText(static_cast<double>(rows.size())), countText(*least), countText(*most));
}

RowGroupSizes rowGroupSizes(const std::vector<values::DatasetFile>& files, int numBins) {
    RowGroupSizes result;
    std::vector<double> sizes = sizesOf(files, true);
    result.isDecoded = std::ranges::any_of(sizes, [](double s) { return s > 0; });
    if (!result.isDecoded) {
        sizes = sizesOf(files, false);
    }
    result.numRowGroups = static_cast<std::int64_t>(sizes.size());
    if (sizes.empty()) {
        return result;
    }
    std::ranges::sort(sizes);
    result.medianBytes = sizes[sizes.size() / 2];
    // Bins start at zero, so that even sizes look even.
    const double width = std::max(1.0, sizes.back() * 1.02) / numBins;
    result.counts.assign(static_cast<std::size_t>(numBins), 0);
    for (int i = 0; i <= numBins; ++i) {
        result.edges.push_back(width * i);
    }
    for (const double size : sizes) {
        const auto bin = std::min(numBins - 1, static_cast<int>(size / width));
        ++result.counts[static_cast<std::size_t>(bin)];
    }
    return result;
}

QString tsvOf(const QAbstractItemModel& model, const std::vector<int>& rows,
              const std::vector<int>& columns) {
    const auto clean = [](QString text) {
        return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
    };
    QStringList lines, cells;
    for (const int column : columns) {
        cells.append(clean(model.headerData(column, Qt::Horizontal).toString()));
    }
    lines.append(cells.join('\t'));
    for (const int row : rows) {
        cells.clear();
        for (const int column : columns) {
            cells.append(clean(model.index(row, column).data().toString()));
        }
        lines.append(cells.join('\t'));
    }
    return lines.join('\n') + '\n';
}

}  // namespace millrace::gui
