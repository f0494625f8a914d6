#pragma once
// RunDiff: runs side by side: their differences, or everything.
//
// One row per fact, one column per run after the names; section titles between the rows. The first
// run is the reference: metrics show the difference to it. Threads: the GUI thread. Owns: the runs'
// details, shared.
#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/models/runs/metric_comparison.h"
#include "app/gui/models/runs/run_facts.h"
#include "app/gui/models/text_table.h"
#include "backend/core/status.h"
#include "backend/values/inspection.h"

namespace millrace::gui {

/// Why some runs are not compared row by row, as a sentence; "" if all are.
QString whyUnpaired(const Result<values::PairReply>& reply);

class RunDiff : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum Role { kIsSectionRole = Qt::UserRole + 1, kDiffersRole, kRunIdRole };
    using QAbstractTableModel::QAbstractTableModel;

    void setRuns(std::vector<std::shared_ptr<const values::RunDetail>> runs);
    const std::vector<std::shared_ptr<const values::RunDetail>>& runs() const { return runs_; }
    /// Row by row comparisons with the run `first`; shown while that run is the first.
    void setPairs(const std::string& first, values::PairReply pairs);
    /// Takes a newer summary of one of them: updates state and metrics.
    void update(const values::RunSummary& run);
    void setOnlyDifferent(bool isOnly);
    /// The number of facts that differ, titles not counted.
    int numDifferent() const { return numDifferent_; }
    bool isSection(int row) const { return shown_[static_cast<std::size_t>(row)] < 0; }
    /// For a metric's cell: the comparison with the first run.
    std::optional<BaseDifference> difference(int row, int column) const;
    /// Caveats about the figures: other files, other labels, other seeds, seed noise; "" for fewer
    /// than two.
    QString remarks() const;
    /// All rows that are shown.
    TextTable texts() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
    struct Row {
        QString section, name;
        std::vector<QString> values, tips;
        std::string metric;  ///< "": no metric
        bool differs = false;
        bool isOfPairs = false;  ///< not a fact of the runs: not counted
        /// One per run; empty: by the metric.
        std::vector<std::optional<BaseDifference>> differences{};
    };
    void compute();
    void addMetrics();
    void addPairs();
    void addPairedHead(const std::string& head);
    const values::RunPair* pairOf(std::size_t run) const;
    std::vector<const values::RunDetail*> details() const;
    void addSpecs();
    void addFacts(std::vector<RunFact> (*factsOf)(const values::RunDetail&), const QString& title);
    void show();

    std::vector<std::shared_ptr<const values::RunDetail>> runs_;
    std::string pairedWith_;
    values::PairReply pairs_;
    std::vector<Row> rows_;
    std::vector<int> shown_;  ///< index of the row; below 0: the title above row -1 - n
    bool isOnlyDifferent_ = true;
    int numDifferent_ = 0;
};

}  // namespace millrace::gui
