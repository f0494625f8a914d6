#include "app/gui/pages/launch/sheet_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QCompleter>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QStringListModel>
#include <QTimer>
#include <algorithm>

#include "app/gui/pages/launch/sheet_delegate.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

void SheetView::keyPressEvent(QKeyEvent* event) {
    bool isTaken = false;
    // While a cell is edited, its field gets the keys.
    if (state() != EditingState) {
        Q_EMIT keyWanted(event->key(), event->modifiers(), isTaken);
    }
    if (isTaken) {
        event->accept();
    } else {
        QTableView::keyPressEvent(event);
    }
}

SheetPanel::SheetPanel(SheetModel* model, QWidget* parent)
    : QFrame(parent),
      model_(*model),
      view_(new SheetView(this)),
      count_(new QLabel(this)),
      hint_(new QLabel(this)),
      keyField_(new QLineEdit(this)),
      keys_(new QStringListModel(this)),
      message_(new MessageStrip(this)) {
    auto* layout = boxIn<QVBoxLayout>(this, 0);
    auto* head = boxIn<QHBoxLayout>(nullptr, kSpaceTiny,
                                    {kSpaceMedium, kSpaceTiny, kSpaceMedium, kSpaceTiny});
    buildHeader(head);
    buildView();
    layout->addLayout(head);
    layout->addWidget(message_);
    layout->addWidget(view_, 1);
    connect(model, &SheetModel::modelReset, this, [this] { showState(); });
    connect(model, &SheetModel::rowsInserted, this, [this] { showState(); });
    connect(model, &SheetModel::rowsRemoved, this, [this] { showState(); });
    connect(model, &SheetModel::columnsInserted, this, [this] { fitColumns(); });
    connect(model, &SheetModel::columnsRemoved, this, [this] { fitColumns(); });
    connect(model, &SheetModel::ticksChanged, this, [this] { showState(); });
    connect(model, &SheetModel::refused, this,
            [this](const QString& why) { message_->setMessage(Tone::kWarn, why); });
    connect(model, &SheetModel::textEdits, this, [this] { message_->clearMessage(); });
    showState();
}

QToolButton* SheetPanel::addButton(QHBoxLayout* layout, const QString& text, const QString& tip,
                                   std::function<void()> onClick) {
    auto* button = styled<QToolButton>("flat", this);
    button->setText(text);
    button->setToolTip(tip);
    connect(button, &QToolButton::clicked, this, std::move(onClick));
    layout->addWidget(button);
    return button;
}

void SheetPanel::buildHeader(QHBoxLayout* layout) {
    auto* title = styled<QLabel>("heading", tr("Variations"), this);
    setLook(*count_, "dim");
    setLook(*hint_, "dim");
    layout->addWidget(title);
    layout->addWidget(count_);
    layout->addSpacing(kSpaceMedium);
    addButton(layout, tr("Add"), tr("A new variation (Insert)"), [this] { addRow(); });
    addButton(layout, tr("Duplicate"), tr("A copy of the chosen variation (Ctrl+D)"),
              [this] { duplicateRow(); });
    addButton(layout, tr("Remove"),
              tr("Removes the chosen variations (Ctrl+Backspace); Ctrl+Z brings them back"),
              [this] { removeRows(); });
    addButton(layout, tr("Tick all"), tr("Ticks all or none"),
              [this] { model_.tickAll(model_.numTicked() < model_.rowCount()); });
    layout->addStretch(1);
    layout->addWidget(hint_);
    keyField_->setPlaceholderText(tr("Add a column: a key such as train.learning_rate"));
    keyField_->setAccessibleName(tr("Add a column by its key"));
    keyField_->setMinimumWidth(220);
    keyField_->setMaximumWidth(380);
    keyField_->setClearButtonEnabled(true);
    auto* completer = new QCompleter(keys_, this);
    completer->setFilterMode(Qt::MatchContains);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setMaxVisibleItems(12);
    keyField_->setCompleter(completer);
    layout->addWidget(keyField_, 1);
    connect(keyField_, &QLineEdit::returnPressed, this, [this] { addColumn(); });
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this,
            // After all slots of this signal: one of them puts the chosen key into the field.
            [this] { QTimer::singleShot(0, this, [this] { addColumn(); }); });
}

void SheetPanel::buildView() {
    view_->setModel(&model_);
    view_->setHorizontalHeader(new SheetHeader(view_));
    view_->setItemDelegate(new SheetDelegate(model_, view_));
    view_->verticalHeader()->hide();
    view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 12);
    view_->setShowGrid(true);
    view_->setFrameShape(QFrame::NoFrame);
    view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    view_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                           QAbstractItemView::AnyKeyPressed);
    view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    view_->setAccessibleName(tr("Variations"));
    view_->setContextMenuPolicy(Qt::CustomContextMenu);
    view_->horizontalHeader()->setStretchLastSection(false);
    view_->viewport()->installEventFilter(this);
    connect(view_, &QWidget::customContextMenuRequested, this,
            [this](const QPoint& position) { showMenu(position); });
    connect(view_, &SheetView::keyWanted, this,
            [this](int key, Qt::KeyboardModifiers modifiers, bool& isTaken) {
                isTaken = onKey(key, modifiers);
            });
    fitColumns();
}

bool SheetPanel::eventFilter(QObject* watched, QEvent* event) {
    // A click on the box ticks; elsewhere in the cell it selects.
    if (event->type() == QEvent::MouseButtonRelease) {
        const QPoint position = static_cast<QMouseEvent*>(event)->pos();
        const QModelIndex index = view_->indexAt(position);
        const QRect cell = view_->visualRect(index);
        // 28 pixels: the box that the delegate paints, with its margins.
        if (index.isValid() && index.column() == SheetModel::kNameColumn &&
            position.x() < cell.left() + 28) {
            model_.setTicked(index.row(), !model_.isTicked(index.row()));
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

bool SheetPanel::onKey(int key, Qt::KeyboardModifiers modifiers) {
    const bool isControl = modifiers == Qt::ControlModifier;
    const QModelIndex current = view_->currentIndex();
    if (isControl && key == Qt::Key_C) {
        copy();
    } else if (isControl && key == Qt::Key_V) {
        paste();
    } else if (isControl && key == Qt::Key_D) {
        duplicateRow();
    } else if (isControl && (key == Qt::Key_Backspace || key == Qt::Key_Delete)) {
        removeRows();
    } else if (modifiers == Qt::NoModifier && key == Qt::Key_Insert) {
        addRow();
    } else if (modifiers == Qt::NoModifier && (key == Qt::Key_Delete || key == Qt::Key_Backspace)) {
        model_.clearCells(view_->selectionModel()->selectedIndexes());
    } else if (modifiers == Qt::NoModifier && key == Qt::Key_Space && current.isValid()) {
        const bool isTicked = model_.isTicked(current.row());
        for (const int row : chosenRows()) {
            model_.setTicked(row, !isTicked);
        }
    } else if (modifiers == Qt::NoModifier && (key == Qt::Key_Return || key == Qt::Key_Enter)) {
        editCell();
    } else {
        return false;
    }
    return true;
}

std::vector<int> SheetPanel::chosenRows() const {
    std::vector<int> rows;
    for (const QModelIndex& index : view_->selectionModel()->selectedIndexes()) {
        rows.push_back(index.row());
    }
    // Without a selection the current row is meant.
    if (rows.empty() && view_->currentIndex().isValid()) {
        rows.push_back(view_->currentIndex().row());
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

void SheetPanel::editCell() {
    const QModelIndex index = view_->currentIndex();
    if (index.isValid() && (model_.flags(index) & Qt::ItemIsEditable) != 0) {
        view_->edit(index);
    }
}

void SheetPanel::addRow() {
    model_.addRow();
    const int last = model_.rowCount() - 1;
    if (last > 0) {
        view_->setCurrentIndex(model_.index(last, SheetModel::kNameColumn));
    }
}

void SheetPanel::duplicateRow() {
    const int row = std::max(view_->currentIndex().row(), 0);
    model_.duplicateRow(row);
    // A copy of the base is a new variation at the end; another copy follows its original.
    const int made = row == 0 ? model_.rowCount() - 1 : row + 1;
    view_->setCurrentIndex(model_.index(made, SheetModel::kNameColumn));
}

void SheetPanel::copy() {
    QApplication::clipboard()->setText(model_.copy(view_->selectionModel()->selectedIndexes()));
}

void SheetPanel::paste() {
    model_.paste(view_->currentIndex(), QApplication::clipboard()->text());
}

void SheetPanel::addColumn() {
    const QString key = keyField_->text().trimmed();
    if (key.isEmpty() || !model_.addColumn(key)) {
        return;
    }
    keyField_->clear();
    for (int column = SheetModel::kFirstKey; column < model_.columnCount(); ++column) {
        if (model_.keyOf(column) == key) {
            const int row =
                std::max(view_->currentIndex().row(), std::min(1, model_.rowCount() - 1));
            view_->setCurrentIndex(model_.index(row, column));
            view_->setFocus();
        }
    }
}

void SheetPanel::setKeys(const QStringList& keys) {
    if (keys != keys_->stringList()) {
        keys_->setStringList(keys);
    }
}

void SheetPanel::setColumns(const KnownColumns& columns) {
    static_cast<SheetDelegate*>(view_->itemDelegate())->setColumns(columns);
}

void SheetPanel::fitColumns() {
    for (int column = 0; column < model_.columnCount(); ++column) {
        const int cells = static_cast<QAbstractItemView*>(view_)->sizeHintForColumn(column);
        const int head = view_->horizontalHeader()->sectionSizeHint(column);
        const bool isCount =
            column == SheetModel::kKeptColumn || column == SheetModel::kPositivesColumn;
        const int least = isCount ? 128 : column == SheetModel::kCheckColumn ? 112 : 84;
        view_->setColumnWidth(column, std::clamp(std::max(cells, head), least, 300));
    }
}

void SheetPanel::showState() {
    const int variations = model_.rowCount() - 1;
    count_->setText(variations == 0   ? tr("none yet")
                    : variations == 1 ? QStringLiteral("1")
                                      : QString::number(variations));
    hint_->setText(tr("%1 of %2 ticked").arg(model_.numTicked()).arg(variations + 1));
    if (!model_.why().isEmpty()) {
        shownWhy_ = model_.why();
        message_->setMessage(Tone::kWarn, shownWhy_);
        // Clears its own sentence only; the strip may show why an edit was refused.
    } else if (!shownWhy_.isEmpty() && message_->sentence() == shownWhy_) {
        message_->clearMessage();
    }
    // Otherwise the widths are the user's.
    if (numColumns_ != model_.columnCount()) {
        numColumns_ = model_.columnCount();
        fitColumns();
    }
}

void SheetPanel::showMenu(const QPoint& position) {
    const QModelIndex index = view_->indexAt(position);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Copy"), this, [this] { copy(); });
    menu->addAction(tr("Paste"), this, [this] { paste(); });
    menu->addSeparator();
    menu->addAction(tr("Duplicate variation"), this, [this] { duplicateRow(); });
    menu->addAction(tr("Remove variation"), this, [this] { removeRows(); });
    const QString key = model_.keyOf(index.column());
    if (!key.isEmpty()) {
        menu->addSeparator();
        menu->addAction(tr("Remove column %1").arg(key), this,
                        [this, key] { model_.removeColumnOfKey(key); });
    }
    menu->popup(view_->viewport()->mapToGlobal(position));
}

}  // namespace millrace::gui
