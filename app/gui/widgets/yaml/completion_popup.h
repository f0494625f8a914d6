#pragma once
// The list of completions below the cursor, and the signature of the call that is being typed.
//
// It is a child of the editor and never takes the focus; the editor forwards the keys. Threads: the
// GUI thread.
#include <QFrame>
#include <QLabel>
#include <QListWidget>
#include <optional>
#include <vector>

#include "app/gui/models/spec/spec_completion.h"

namespace millrace::gui {

class CompletionPopup final : public QFrame {
    Q_OBJECT

 public:
    explicit CompletionPopup(QWidget* parent);

    /// Shows them below (or above) `line`, within the parent; hidden without items.
    void showItems(std::vector<Completion> items, const QRect& line);
    void showHint(const std::optional<CallHint>& hint, const QRect& line);
    void dismiss();
    bool isOpen() const { return isVisible(); }
    bool hasHint() const { return hint_->isVisible(); }

    void move(int rows);
    /// nullptr: none is selected.
    const Completion* current() const;
    const std::vector<Completion>& items() const { return items_; }

 Q_SIGNALS:
    void chosen(const millrace::gui::Completion& completion);

 private:
    void showDoc();

    QListWidget* list_;
    QLabel* doc_;
    QLabel* hint_;
    std::vector<Completion> items_;
};

}  // namespace millrace::gui
