#pragma once
// Cells of the sheet: paints them, and edits them by the key's type with checks while typing.
//
// Threads: the GUI thread.
#include <QHeaderView>
#include <QStyledItemDelegate>

#include "app/gui/models/spec/spec_completion.h"

namespace millrace::gui {

class SheetModel;

class SheetDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    explicit SheetDelegate(SheetModel& model, QObject* parent = nullptr);

    void setColumns(const KnownColumns& columns) { columns_ = columns; }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const override;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;
    void setModelData(QWidget* editor, QAbstractItemModel* model,
                      const QModelIndex& index) const override;

 private:
    QWidget* makeChoice(QWidget* parent, const QModelIndex& index) const;
    QWidget* makeField(QWidget* parent, const QModelIndex& index) const;

    SheetModel& model_;
    KnownColumns columns_;
};

/// Key paths on two lines: the parent, and the key.
class SheetHeader final : public QHeaderView {
    Q_OBJECT

 public:
    explicit SheetHeader(QWidget* parent = nullptr);
    QSize sizeHint() const override;

 protected:
    QSize sectionSizeFromContents(int section) const override;
    void paintSection(QPainter* painter, const QRect& rect, int section) const override;
};

}  // namespace millrace::gui
