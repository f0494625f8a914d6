#pragma once
// Paint the cells of comparisons and of tables of facts: section titles, marks, differences.
//
// Threads: the GUI thread.
#include <QStyledItemDelegate>

namespace millrace::gui {

class RunColors;
class RunDiff;

class DiffDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    DiffDelegate(const RunDiff& diff, QObject* parent);
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    /// The width that a run's figures need beside their differences; other texts are cut.
    int figureWidth(int column, const QFont& font) const;

 private:
    const RunDiff& diff_;
};

/// For FactTable.
class FactDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

}  // namespace millrace::gui
