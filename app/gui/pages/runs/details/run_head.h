#pragma once
// The head above the tabs of a run: its name, its state, place and time, and its actions.
//
// Threads: the GUI thread.
#include <QWidget>
#include <string>
#include <vector>

#include "backend/values/run_summary.h"

class QHBoxLayout;
class QToolButton;

namespace millrace::gui {

class Badge;
class ElidedLabel;
class RunActions;

class RunHead final : public QWidget {
    Q_OBJECT

 public:
    RunHead(RunActions& actions, QWidget* parent);
    void showRun(const values::RunSummary& run);

 private:
    using IsOffered = bool (*)(const values::RunSummary&);
    struct Action {
        QToolButton* button;
        IsOffered isOffered;
    };
    void buildTitle();
    void buildActions();
    template <class Act>
    void offer(const QString& text, const QString& tip, IsOffered isOffered, Act act);

    RunActions& actions_;
    std::string id_;
    Badge* badge_ = nullptr;
    ElidedLabel *title_ = nullptr, *subtitle_ = nullptr;
    QHBoxLayout* buttons_ = nullptr;
    std::vector<Action> offered_;
};

}  // namespace millrace::gui
