#pragma once
// Everything about one run: overview, metrics, spec, receipt, environment, log, checkpoints, note.
//
// What the list knows of the run is shown at once; the rest follows from the daemon and is read
// again as the run changes. Threads: the GUI thread. Owns: its sections. Failure: a run that cannot
// be read keeps what the list knows, with the daemon's sentence above it.
#include <QElapsedTimer>
#include <QSettings>
#include <QTimer>
#include <QWidget>
#include <memory>
#include <string>

#include "app/client/daemon_values.h"

class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace millrace::gui {

class Badge;
class CheckpointSection;
class DaemonBridge;
class ElidedLabel;
class EmptyState;
class FactView;
class LogSection;
class MessageStrip;
class MetricsSection;
class NoteSection;
class OverviewSection;
class ReceiptSection;
class RunActions;
class RunColors;
class RunTable;
class SpecSection;

class DetailsPanel final : public QWidget {
    Q_OBJECT

 public:
    enum class Tab {
        kOverview,
        kMetrics,
        kSpec,
        kReceipt,
        kEnvironment,
        kLog,
        kCheckpoints,
        kNote
    };

    DetailsPanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors, RunActions& actions,
                 QWidget* parent);

    /// "": none.
    void setRun(const std::string& id);
    /// Where runs are looked for: the deleted ones have a table of their own.
    void setTable(RunTable& runs);
    const std::string& runId() const { return id_; }
    /// Summaries have changed.
    void refresh();
    void clear();
    bool isSettled() const;
    void showTab(Tab tab);
    Tab tab() const;
    void editNote();
    void focusTabs();
    /// What all tabs need side by side.
    int tabsWidth() const;

    OverviewSection& overview() const { return *overview_; }
    MetricsSection& metrics() const { return *metrics_; }
    SpecSection& spec() const { return *spec_; }
    ReceiptSection& receipt() const { return *receipt_; }
    FactView& environment() const { return *environment_; }
    LogSection& log() const { return *log_; }
    CheckpointSection& checkpoints() const { return *checkpoints_; }
    NoteSection& note() const { return *note_; }
    /// Null before it came.
    const client::RunDetail* detail() const { return detail_.get(); }

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void said(const QString& sentence);

 private:
    void build();
    QWidget* buildHead();
    void buildTabs();
    QToolButton* addAction(const QString& text, const QString& tip);
    void fetch();
    void showSummary(const client::RunSummary& run);
    void showDetail();
    void showTabData();

    DaemonBridge& daemon_;
    RunTable* runs_;
    const RunColors& colors_;
    RunActions& actions_;
    std::string id_;
    std::unique_ptr<client::RunDetail> detail_;
    std::uint64_t shownRevision_ = 0, fetchedRevision_ = 0;
    bool isFetching_ = false;
    QTimer fetchTimer_;
    QElapsedTimer sinceFetch_, sinceShown_;
    QStackedWidget* stack_ = nullptr;
    QWidget* content_ = nullptr;
    EmptyState* empty_ = nullptr;
    Badge* badge_ = nullptr;
    ElidedLabel *title_ = nullptr, *subtitle_ = nullptr;
    QToolButton *watch_ = nullptr, *stop_ = nullptr, *resume_ = nullptr, *again_ = nullptr,
                *copy_ = nullptr, *delete_ = nullptr, *restore_ = nullptr;
    MessageStrip* error_ = nullptr;
    QTabWidget* tabs_ = nullptr;
    OverviewSection* overview_ = nullptr;
    MetricsSection* metrics_ = nullptr;
    SpecSection* spec_ = nullptr;
    ReceiptSection* receipt_ = nullptr;
    FactView* environment_ = nullptr;
    LogSection* log_ = nullptr;
    CheckpointSection* checkpoints_ = nullptr;
    NoteSection* note_ = nullptr;
};

}  // namespace millrace::gui
