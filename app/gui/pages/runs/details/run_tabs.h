#pragma once
// RunTabs: the tabs of a run's details, one section each.
//
// One table defines for each section its title, how it forgets a run and which parts of the
// daemon's reply it takes. Only the visible section shows the list's data, because charts are
// expensive. Threads: the GUI thread. Owns: the sections.
#include <QSettings>
#include <QTabWidget>
#include <functional>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

class CheckpointSection;
class DaemonBridge;
class LogSection;
class MetricsSection;
class NoteSection;
class OverviewSection;
class ReceiptSection;
class RunColors;
class SpecSection;

class RunTabs final : public QTabWidget {
    Q_OBJECT

 public:
    /// In the order of the tabs.
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

    RunTabs(DaemonBridge& daemon, const RunColors& colors, QWidget* parent);

    OverviewSection& overview() const { return *overview_; }
    MetricsSection& metrics() const { return *metrics_; }
    SpecSection& spec() const { return *spec_; }
    ReceiptSection& receipt() const { return *receipt_; }
    LogSection& log() const { return *log_; }
    CheckpointSection& checkpoints() const { return *checkpoints_; }
    NoteSection& note() const { return *note_; }

    Tab tab() const { return static_cast<Tab>(currentIndex()); }
    void showTab(Tab tab) { setCurrentIndex(static_cast<int>(tab)); }
    /// Selects another run; its data follows.
    void setRun(const std::string& id);
    /// Shows the list's data in the visible tab. `base`: null if there is none; `detail`: null
    /// before the first reply.
    void showRun(const values::RunSummary& run, const values::RunSummary* base,
                 const values::RunDetail* detail, std::int64_t nowMs);
    void showDetail(const values::RunDetail& detail);
    /// No run is selected: forgets curves too.
    void forget();
    bool isSettled() const;
    /// The width that all tabs need side by side.
    int tabsWidth() const;
    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void said(const QString& sentence);
    void resumeAsked(std::int64_t step);
    void copyResumeAsked(std::int64_t step);

 private:
    struct Section {
        std::function<void(const std::string& id)> setRun;                ///< may be empty
        std::function<void(const values::RunDetail& detail)> showDetail;  ///< may be empty
    };
    void addCurves(DaemonBridge& daemon, const RunColors& colors);
    void addFacts();
    void addRest(DaemonBridge& daemon);
    void add(QWidget& section, const QString& title, Section duties);

    std::vector<Section> sections_;
    OverviewSection* overview_ = nullptr;
    MetricsSection* metrics_ = nullptr;
    SpecSection* spec_ = nullptr;
    ReceiptSection* receipt_ = nullptr;
    LogSection* log_ = nullptr;
    CheckpointSection* checkpoints_ = nullptr;
    NoteSection* note_ = nullptr;
};

}  // namespace millrace::gui
