#include "app/gui/pages/launch/sheet_delegate.h"

#include <QComboBox>
#include <QCompleter>
#include <QLineEdit>
#include <QPainter>
#include <QPersistentModelIndex>
#include <QTimer>

#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kCheckMs = 120;

QStringList twoLines(const QString& key) {
    const auto dot = key.lastIndexOf(u'.');
    return dot < 0 ? QStringList{{}, key} : QStringList{key.left(dot), key.mid(dot + 1)};
}

void paintBox(QPainter& painter, const QRectF& box, bool isTicked, const ThemeColors& colors) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(isTicked ? colors.accent : colors.strongBorder, 1));
    painter.setBrush(isTicked ? QBrush(colors.accent) : QBrush(Qt::NoBrush));
    painter.drawRoundedRect(box, 3, 3);
    if (isTicked) {
        paintMark(painter, box.adjusted(2, 2, -2, -2), Mark::kTick, colors.onAccent);
    }
    painter.restore();
}

/// Colours the field red while the value is invalid, with the reader's sentence as its tooltip.
void watchField(QLineEdit* field, const SheetModel& model, const QModelIndex& index) {
    auto* timer = new QTimer(field);
    timer->setSingleShot(true);
    timer->setInterval(kCheckMs);
    const QPersistentModelIndex cell(index);
    QObject::connect(field, &QLineEdit::textChanged, timer, qOverload<>(&QTimer::start));
    QObject::connect(timer, &QTimer::timeout, field, [field, cell, &model] {
        const QString problem = cell.isValid() ? model.problemWith(cell, field->text()) : QString();
        setLook(*field, problem.isEmpty() ? "" : "error");
        field->setToolTip(problem);
        field->setAccessibleDescription(problem);
    });
}

}  // namespace

SheetDelegate::SheetDelegate(SheetModel& model, QObject* parent)
    : QStyledItemDelegate(parent), model_(model) {}

QSize SheetDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const QFont font =
        index.column() == SheetModel::kNameColumn ? option.font : monoFont(option.font);
    const int width = QFontMetrics(font).horizontalAdvance(index.data().toString());
    const int box = index.column() == SheetModel::kNameColumn ? 32 : 0;
    return {std::min(width + box + 2 * kSpaceMedium, 340), option.fontMetrics.height() + 12};
}

void SheetDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    const bool isChosen = (option.state & QStyle::State_Selected) != 0;
    const bool hasError = !index.data(SheetModel::kErrorRole).toString().isEmpty();
    const bool isChanged = index.data(SheetModel::kIsChangedRole).toBool();
    painter->save();
    painter->fillRect(option.rect, isChosen   ? colors.selection
                                   : hasError ? colors.badBack
                                              : colors.surface);
    if (isChanged && !hasError) {
        painter->fillRect(
            QRect(option.rect.left(), option.rect.top() + 3, 2, option.rect.height() - 6),
            colors.accent);
    }
    QRect rect = option.rect.adjusted(kSpaceMedium, 0, -kSpaceSmall, 0);
    if (index.column() == SheetModel::kNameColumn) {
        const QRectF box(option.rect.left() + kSpaceSmall + 0.5, option.rect.center().y() - 7.5, 15,
                         15);
        paintBox(*painter, box, index.data(Qt::CheckStateRole).toInt() == Qt::Checked, colors);
        rect.setLeft(static_cast<int>(box.right()) + kSpaceSmall);
    }
    if (hasError) {
        const QRectF mark(rect.right() - 12, rect.center().y() - 6, 12, 12);
        paintMark(*painter, mark, Mark::kCross, colors.bad);
        rect.setRight(rect.right() - 16);
    }
    QFont font = index.column() >= SheetModel::kFirstKey ? monoFont(option.font) : option.font;
    font.setBold(index.column() == SheetModel::kNameColumn && index.row() == 0);
    const bool isFound =
        index.column() > SheetModel::kNameColumn && index.column() < SheetModel::kFirstKey;
    const bool isDim = index.data(SheetModel::kIsDefaultRole).toBool() ||
                       (index.column() == SheetModel::kCheckColumn && !hasError);
    painter->setFont(font);
    painter->setPen(hasError && isFound ? colors.bad : isDim ? colors.dim : colors.text);
    const QString text = index.data().toString();
    painter->drawText(rect, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(font).elidedText(text, Qt::ElideRight, rect.width()));
    if ((option.state & QStyle::State_HasFocus) != 0) {
        painter->setPen(QPen(colors.accent, 1.5));
        painter->drawRect(QRectF(option.rect).adjusted(1, 1, -1.5, -1.5));
    }
    painter->restore();
}

QWidget* SheetDelegate::makeChoice(QWidget* parent, const QModelIndex& index) const {
    auto* box = new QComboBox(parent);
    box->setFont(monoFont(parent->font()));
    if (!model_.isBase(index.row())) {
        box->addItem(tr("as the base"), QString());
    }
    for (const QString& choice : model_.choices(index)) {
        box->addItem(choice, choice);
    }
    return box;
}

QWidget* SheetDelegate::makeField(QWidget* parent, const QModelIndex& index) const {
    auto* field = new QLineEdit(parent);
    field->setFont(index.column() == SheetModel::kNameColumn ? parent->font()
                                                             : monoFont(parent->font()));
    QStringList words;
    for (const Completion& item :
         valueCompletions(model_.syntax(), model_.keyOf(index.column()), columns_)) {
        words << item.label;
    }
    if (!words.isEmpty() && index.column() >= SheetModel::kFirstKey) {
        auto* completer = new QCompleter(words, field);
        completer->setCaseSensitivity(Qt::CaseInsensitive);
        field->setCompleter(completer);
    }
    watchField(field, model_, index);
    return field;
}

QWidget* SheetDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&,
                                     const QModelIndex& index) const {
    const SheetModel::EditorKind kind = model_.editorKind(index);
    const bool isChoice =
        kind == SheetModel::EditorKind::kBool || kind == SheetModel::EditorKind::kChoice;
    QWidget* editor = isChoice && index.column() >= SheetModel::kFirstKey
                          ? makeChoice(parent, index)
                          : makeField(parent, index);
    editor->setAutoFillBackground(true);
    return editor;
}

void SheetDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
    const QString text = index.data(Qt::EditRole).toString();
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
        int at = box->findData(text);
        if (at < 0) {  // an invalid value stays until another is chosen
            box->addItem(text, text);
            at = box->count() - 1;
        }
        box->setCurrentIndex(at);
    } else if (auto* field = qobject_cast<QLineEdit*>(editor)) {
        if (!field->isModified()) {
            field->setText(text);
            field->selectAll();
        }
    }
}

void SheetDelegate::setModelData(QWidget* editor, QAbstractItemModel* model,
                                 const QModelIndex& index) const {
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
        model->setData(index, box->currentData(), Qt::EditRole);
    } else if (auto* field = qobject_cast<QLineEdit*>(editor)) {
        model->setData(index, field->text(), Qt::EditRole);
    }
}

SheetHeader::SheetHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
    setSectionsClickable(true);
    setHighlightSections(false);
    setMinimumSectionSize(72);
    setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

QSize SheetHeader::sizeHint() const {
    return {QHeaderView::sizeHint().width(), 2 * fontMetrics().height() + 10};
}

QSize SheetHeader::sectionSizeFromContents(int section) const {
    const QStringList lines =
        twoLines(model()->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString());
    const int width = std::max(QFontMetrics(captionFont(font())).horizontalAdvance(lines[0]),
                               fontMetrics().horizontalAdvance(lines[1]));
    return {std::min(width + 2 * kSpaceMedium + 8, 240), sizeHint().height()};
}

void SheetHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
    const ThemeColors& colors = colorsOf(palette());
    const QString title = model()->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
    const QStringList lines = twoLines(title);
    painter->save();
    painter->fillRect(rect, colors.sunken);
    painter->setPen(colors.border);
    painter->drawLine(rect.bottomLeft(), rect.bottomRight());
    painter->drawLine(rect.topRight() + QPoint(0, 6), rect.bottomRight() - QPoint(0, 6));
    const QRect inner = rect.adjusted(kSpaceMedium, 4, -kSpaceSmall, -4);
    if (!lines[0].isEmpty()) {
        painter->setFont(captionFont(font()));
        painter->setPen(colors.dim);
        painter->drawText(
            inner, Qt::AlignTop | Qt::AlignLeft,
            painter->fontMetrics().elidedText(lines[0], Qt::ElideMiddle, inner.width()));
    }
    painter->setFont(font());
    painter->setPen(colors.text);
    painter->drawText(inner, Qt::AlignBottom | Qt::AlignLeft,
                      painter->fontMetrics().elidedText(lines[1], Qt::ElideRight, inner.width()));
    painter->restore();
}

}  // namespace millrace::gui
