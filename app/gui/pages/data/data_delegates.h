#pragma once
// Paint the cells of the Data page: bars behind sizes, strips of row groups, marked sample rows,
// and the steps of a recipe.
//
// Threads: the GUI thread.
#include <QHeaderView>
#include <QStyledItemDelegate>

namespace millrace::gui {

/// A pale bar of length kShareRole below the figure.
class ShareDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// The row groups of a file as blocks, in order (DatasetFilesModel::kStripRole).
class StripDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// A value of a sample: removed ones are red and struck through, new and changed ones have a pale
/// background, gaps are hatched, nulls faint.
class SampleDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// The header of a sample: new columns have a plus, dropped ones are struck through.
class SampleHeader final : public QHeaderView {
    Q_OBJECT

 public:
    explicit SampleHeader(QWidget* parent = nullptr);

 protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override;
    QSize sectionSizeFromContents(int section) const override;
};

/// A step: its position, name and kind, the rows in and out, and the share that it kept.
class StepDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

}  // namespace millrace::gui
