#pragma once
// Launch: a spec in an editor, its variations as a sheet, and what starts them.
//
// The open spec is PageContext::spec, shared with Data; this page has it checked: at once by the
// reader (spec_checker.h) and, when the keys rest, by the daemon. Threads: the GUI thread. Failure:
// every message stands at its place: in the editor, in the sheet's cell, or below the path.
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

    /// Reads the file off the GUI thread and opens it; the one that was open stays in the list of
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
