#pragma once
// How the Data page paints cells: bars behind sizes, strips of row groups, marked sample rows, and
// the steps of a recipe.
//
// Threads: the GUI thread.
#include <QHeaderView>
#include <QStyledItemDelegate>

namespace millrace::gui {

/// A quiet bar as long as kShareRole says, below the figure.
class ShareDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// The row groups of a file as blocks in their order (DatasetFilesModel::kStripRole).
class StripDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// A value of a sample: removed ones struck and red, new and changed ones on a quiet ground, gaps
/// hatched, nulls faint.
class SampleDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// The header of a sample: new columns with a plus, dropped ones struck.
class SampleHeader final : public QHeaderView {
    Q_OBJECT

 public:
    explicit SampleHeader(QWidget* parent = nullptr);

 protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override;
    QSize sectionSizeFromContents(int section) const override;
};

/// A step: its place, name and kind, the rows in and out, and how much it kept.
class StepDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

}  // namespace millrace::gui
