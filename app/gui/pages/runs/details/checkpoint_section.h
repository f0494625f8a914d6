#pragma once
// The checkpoints of one run; a stopped run can be resumed from any of them.
//
// Threads: the GUI thread.
#include <QWidget>
#include <cstdint>
#include <string>

#include "backend/values/run_detail.h"

class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace millrace::gui {

class CheckpointTable;
class EmptyState;

class CheckpointSection final : public QWidget {
    Q_OBJECT

 public:
    explicit CheckpointSection(QWidget* parent);

    void showDetail(const values::RunDetail& run);
    void clear();
    CheckpointTable& model() const { return *model_; }
    QTableView& table() const { return *table_; }
    QPushButton& resumeButton() const { return *resume_; }

 Q_SIGNALS:
    void resumeAsked(std::int64_t step);
    void copyAsked(std::int64_t step);

 private:
    void build();
    void showButtons();
    std::int64_t chosenStep() const;  ///< 0: none

    CheckpointTable* model_;
    QTableView* table_;
    QStackedWidget* stack_;
    EmptyState* empty_;
    QPushButton *resume_ = nullptr, *copy_ = nullptr;
    QLabel* hint_ = nullptr;
    values::RunState state_ = values::RunState::kUnknown;
};

}  // namespace millrace::gui
