#include "app/gui/pages/runs/details/checkpoint_section.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "app/gui/models/details/checkpoint_table.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

using values::RunState;

CheckpointSection::CheckpointSection(QWidget* parent)
    : QWidget(parent),
      model_(new CheckpointTable(this)),
      table_(new QTableView(this)),
      stack_(new QStackedWidget(this)),
      empty_(new EmptyState(this)) {
    auto* layout = boxIn<QVBoxLayout>(this);
    layout->addWidget(stack_);
    empty_->setText(tr("No checkpoints yet"),
                    tr("train.checkpoint.every_steps in the spec says how often one is written; "
                       "the last one is written when the run ends or is stopped."));
    build();
    stack_->addWidget(empty_);
    stack_->setCurrentWidget(empty_);
}

void CheckpointSection::build() {
    auto* content = new QWidget(stack_);
    auto* layout = boxIn<QVBoxLayout>(content, kStyleSpacing, kSectionMargins);
    table_->setModel(model_);
    table_->setAccessibleName(tr("Checkpoints"));
    table_->setShowGrid(false);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setTabKeyNavigation(false);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->verticalHeader()->hide();
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->resizeSection(CheckpointTable::kTime, 160);
    layout->addWidget(table_, 1);
    auto* row = new QHBoxLayout;
    hint_ = new QLabel(content);
    hint_->setWordWrap(true);
    setLook(*hint_, "dim");
    resume_ = styled<QPushButton>("primary", tr("Resume from here"), content);
    copy_ = new QPushButton(tr("Copy as CLI"), content);
    row->addWidget(hint_, 1);
    row->addWidget(copy_);
    row->addWidget(resume_);
    layout->addLayout(row);
    stack_->addWidget(content);
    connect(resume_, &QPushButton::clicked, this, [this] { Q_EMIT resumeAsked(chosenStep()); });
    connect(copy_, &QPushButton::clicked, this, [this] { Q_EMIT copyAsked(chosenStep()); });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this] { showButtons(); });
    connect(table_, &QAbstractItemView::activated, this, [this] {
        if (resume_->isEnabled()) {
            Q_EMIT resumeAsked(chosenStep());
        }
    });
}

std::int64_t CheckpointSection::chosenStep() const {
    const int row = table_->currentIndex().row();
    return row < 0 ? 0 : model_->at(row).step;
}

void CheckpointSection::showButtons() {
    const bool canResume = state_ == RunState::kCancelled || state_ == RunState::kFailed;
    resume_->setEnabled(canResume && chosenStep() > 0);
    copy_->setEnabled(chosenStep() > 0);
    hint_->setText(canResume                       ? QString()
                   : state_ == RunState::kFinished ? tr("A finished run has nothing to resume")
                                                   : tr("Stop the run to resume it from an "
                                                        "earlier step"));
}

void CheckpointSection::showDetail(const values::RunDetail& run) {
    state_ = run.summary.state;
    model_->setCheckpoints(run.checkpoints);
    stack_->setCurrentIndex(run.checkpoints.empty() ? 1 : 0);
    if (!table_->currentIndex().isValid() && model_->rowCount() > 0) {
        table_->selectRow(0);
    }
    showButtons();
}

void CheckpointSection::clear() {
    model_->setCheckpoints({});
    stack_->setCurrentWidget(empty_);
}

}  // namespace millrace::gui
