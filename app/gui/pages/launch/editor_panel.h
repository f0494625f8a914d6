#pragma once
// The editor with what belongs below it: find, the problems, and a line about the key at the
// cursor.
//
// Threads: the GUI thread.
#include <QFrame>
#include <QLabel>
#include <QListWidget>
#include <vector>

#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/yaml/yaml_editor.h"

namespace millrace::gui {

class FindBar;

class EditorPanel final : public QFrame {
    Q_OBJECT

 public:
    explicit EditorPanel(QWidget* parent = nullptr);

    YamlEditor* editor() const { return editor_; }
    QListWidget* list() const { return list_; }
    void showProblems(const std::vector<EditorProblem>& problems);
    /// "Checking…", "No problems", "Columns are not checked: …".
    void showCheck(Tone tone, const QString& sentence);
    void openFind();

 private:
    void showHelp();

    YamlEditor* editor_;
    FindBar* find_;
    QListWidget* list_;
    ElidedLabel* help_;
    ElidedLabel* check_;
};

}  // namespace millrace::gui
