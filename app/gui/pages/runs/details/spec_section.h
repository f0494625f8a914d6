#pragma once
// The spec of one run: the submitted text with the run's changes marked, and the resolved keys.
//
// Threads: the GUI thread.
#include <QWidget>
#include <vector>

#include "app/gui/models/details/spec_changes.h"
#include "backend/values/run_detail.h"

class QLabel;
class QPlainTextEdit;
class QStackedWidget;
class QToolButton;

namespace millrace::gui {

class FactView;
class SearchField;
class YamlHighlighter;

class SpecSection final : public QWidget {
    Q_OBJECT

 public:
    explicit SpecSection(QWidget* parent);

    void showDetail(const values::RunDetail& run);
    void clear();
    void showResolved(bool isResolved);
    const std::vector<SpecChange>& changes() const { return changes_; }
    QPlainTextEdit& text() const { return *text_; }
    FactView& resolved() const { return *resolved_; }

 protected:
    void changeEvent(QEvent* event) override;

 private:
    QWidget* buildBar();
    void showChanges();
    void mark();

    std::vector<SpecChange> changes_;
    std::string runId_, shownText_;
    QLabel* summary_ = nullptr;
    QToolButton *textButton_ = nullptr, *resolvedButton_ = nullptr;
    SearchField* search_ = nullptr;
    QStackedWidget* stack_;
    QPlainTextEdit* text_;
    YamlHighlighter* highlighter_;
    FactView *resolved_, *list_;
};

}  // namespace millrace::gui
