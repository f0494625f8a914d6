#pragma once
// The rows that a run really read: the recipe as a funnel, rows, files, and the hashes of the
// order.
//
// Threads: the GUI thread.
#include <QWidget>
#include <memory>

#include "backend/values/run_detail.h"

class QStackedWidget;

namespace millrace::gui {

class Chart;
class EmptyState;
class FactView;

class ReceiptSection final : public QWidget {
    Q_OBJECT

 public:
    explicit ReceiptSection(QWidget* parent);

    void showDetail(const values::RunDetail& run);
    void clear();
    Chart& funnel() const { return *funnel_; }
    FactView& facts() const { return *facts_; }
    bool hasReceipt() const;

 private:
    void sayWhyEmpty(bool hasDataset);

    QStackedWidget* stack_;
    EmptyState* empty_;
    QWidget* content_;
    Chart* funnel_;
    FactView* facts_;
};

}  // namespace millrace::gui
