#pragma once
// LaunchPage: a spec in an editor, its variations as a sheet, and the bar that launches them.
//
// The open spec is PageContext::spec, shared with Data; this page has it checked: at once by the
// reader (spec_checker.h) and, when typing pauses, by the daemon. Threads: the GUI thread. Failure:
// every message is shown in place: in the editor, in the sheet's cell, or below the path.
#include <memory>

#include "app/gui/pages/page.h"

namespace millrace::gui {

class LaunchPage final : public Page {
    Q_OBJECT

 public:
    explicit LaunchPage(const PageContext& context, QWidget* parent = nullptr);
    ~LaunchPage() override;

    PageName name() const override { return PageName::kLaunch; }
    std::vector<Command> commands() override;
    void arrive(const Destination& destination) override;
    bool isSettled() const override;
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    /// Reads the file off the GUI thread and opens it; the previous document stays in the list of
    /// recent ones.
    void openFile(const QString& path);

 protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

 private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::gui
