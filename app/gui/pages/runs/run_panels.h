#pragma once
// RunPanels: the panels beside the table: the details of the current run, or a comparison of
// several.
//
// The ticked runs are compared; with fewer than two of them, the selected ones too. Threads: the
// GUI thread. Owns: both panels.
#include <QElapsedTimer>
#include <QSettings>
#include <QTabWidget>
#include <QTimer>
#include <string>
#include <vector>

#include "app/gui/models/run_colors.h"
#include "app/gui/pages/page.h"

namespace millrace::gui {

class ComparePanel;
class DetailsPanel;
class RunActions;
class RunRows;
class RunsView;

class RunPanels final : public QTabWidget {
    Q_OBJECT

 public:
    RunPanels(const PageContext& context, RunRows& rows, const RunsView& view, RunActions& actions,
              QWidget* parent);

    DetailsPanel& details() const { return *details_; }
    ComparePanel& compare() const { return *compare_; }

    /// Selection or ticks have changed: shows them soon, but no faster than a person can see.
    void selectionChanged();
    void openDetails();
    void editNote();
    /// Call when summaries have changed.
    void refresh();
    /// Call when the daemon was left.
    void drop();
    /// Makes the panel as wide as the tabs of the details.
    void fitWidth();
    bool isSettled() const;
    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void said(const QString& sentence);

 private:
    std::vector<std::string> comparedRuns() const;
    RunColors::Shown shownOf(const std::string& id) const;
    void showSelection();
    void chooseTab(bool hasMore, bool hasAny);

    RunColors& colors_;
    const RunRows& rows_;
    const RunsView& view_;
    DetailsPanel* details_;
    ComparePanel* compare_;
    QTimer timer_;
    QElapsedTimer sinceChange_;
};

}  // namespace millrace::gui
