#pragma once
// The first tab of a run: state with its reason, progress, key figures, the main curve, history.
//
// Threads: the GUI thread.
#include <QWidget>
#include <map>
#include <vector>

#include "app/gui/models/runs/metric_facts.h"
#include "backend/values/run_detail.h"

class QGridLayout;
class QLabel;
class QProgressBar;
class QVBoxLayout;

namespace millrace::gui {

class ChartBoard;
class DaemonBridge;
class FactView;
class Figure;
class MessageStrip;
class RunColors;

class OverviewSection final : public QWidget {
    Q_OBJECT

 public:
    OverviewSection(DaemonBridge& daemon, const RunColors& colors, QWidget* parent);

    /// `base`: the run that it is a variation of, if known.
    void showRun(const values::RunSummary& run, const values::RunSummary* base, std::int64_t nowMs);
    void showDetail(const values::RunDetail& run);
    void clear();
    void setAway(bool isAway);
    ChartBoard& board() const { return *board_; }
    /// The value of a figure by its name ("loss", "step"); "" if it is not shown.
    QString figure(const QString& name) const;
    /// The caption below it: its name, and a remark.
    QString caption(const QString& name) const;
    QString reason() const;
    /// Progress of the checkpoint or scores being sent to the head; "": none is being sent.
    QString handOver() const;

 protected:
    void resizeEvent(QResizeEvent* event) override;

 private:
    void setFigure(const QString& name, const QString& value, const QString& tip = {},
                   const QString& addition = {});
    void arrangeFigures();
    void showRate(const values::RunSummary& run, std::int64_t nowMs);
    void showReason(const values::RunSummary& run);
    void showProgress(const values::RunSummary& run);
    void showMetrics(const values::RunSummary& run, const values::RunSummary* base);

    std::string runId_;
    session::RateAge rateAge_;
    MessageStrip* reason_;
    QLabel* progressText_;
    QProgressBar* progress_;
    QLabel* handOver_;
    QWidget* figuresBox_;
    QGridLayout* grid_;
    ChartBoard* board_;
    FactView* facts_;
    std::vector<std::pair<QString, Figure*>> figures_;
    std::vector<QString> used_;
    int columns_ = 0;
};

}  // namespace millrace::gui
