#pragma once
// ComparePanel: runs side by side: their curves in shared charts, and below their differences.
//
// Threads: the GUI thread. Owns: the fetched details of the compared runs. Failure: a run that
// cannot be read is left out and named in a sentence.
#include <QSettings>
#include <QTimer>
#include <QWidget>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/gui/pages/page.h"
#include "backend/values/inspection.h"
#include "backend/values/run_detail.h"

class QLabel;
class QSplitter;
class QTableView;
class QToolButton;

namespace millrace::gui {

class ChartBoard;
class DaemonBridge;
class DiffDelegate;
class EmptyState;
class MessageStrip;
class RunColors;
class RunDiff;
class RunTable;
class TableExport;
struct BoardRun;

/// The data of a run that a chart needs.
BoardRun boardRunOf(const values::RunSummary& run);

class ComparePanel final : public QWidget {
    Q_OBJECT

 public:
    static constexpr std::size_t kMostRuns = 24;

    ComparePanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors, QWidget* parent);

    void setRuns(const std::vector<std::string>& ids);
    const std::vector<std::string>& runs() const { return ids_; }
    /// Call when summaries have changed.
    void refresh();
    /// Call when runs have other looks.
    void looksChanged();
    void clear();
    bool isSettled() const;
    void setOnlyDifferent(bool isOnly);
    RunDiff& diff() const { return *diff_; }
    ChartBoard& board() const { return *board_; }
    QTableView& names() const { return *names_; }
    QTableView& table() const { return *table_; }
    /// Why some of the runs are not compared row by row; "".
    QString unpairedText() const;
    /// Caveats about the figures, from RunDiff::remarks().
    QString remarksText() const;

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void said(const QString& sentence);
    void noticed(const millrace::gui::Notice& notice);

 protected:
    void resizeEvent(QResizeEvent* event) override;

 private:
    void fitColumns();
    void build();
    QWidget* buildTableSide();
    QTableView* buildTable(QWidget* side, const QString& name);
    void connectTables();
    void fetchMissing();
    void fetchPairs();
    void showPairs(values::PairReply pairs, const QString& unpaired);
    void showRemarks();
    void show();
    void showBoard();
    std::vector<std::string> metricNames() const;

    DaemonBridge& daemon_;
    RunTable& runs_;
    const RunColors& colors_;
    std::vector<std::string> ids_;
    std::map<std::string, std::shared_ptr<const values::RunDetail>> details_;
    std::set<std::string> onTheWay_;
    RunDiff* diff_;
    ChartBoard* board_ = nullptr;
    QSplitter* splitter_ = nullptr;
    QWidget* gap_ = nullptr;                          ///< as high as the scroll bar beside it
    QTableView *names_ = nullptr, *table_ = nullptr;  ///< the first column, and the others
    DiffDelegate* figures_ = nullptr;                 ///< of both
    QLabel* summary_ = nullptr;
    QLabel* unpaired_ = nullptr;
    QLabel* remarks_ = nullptr;
    QString pairedKey_;  ///< identifies the evaluations of the pairs
    bool isPairing_ = false;
    QToolButton* all_ = nullptr;
    MessageStrip* error_ = nullptr;
    TableExport* export_ = nullptr;
    int epoch_ = 0;
};

}  // namespace millrace::gui
