#pragma once
// EditorPanel: the editor, and below it: find, the problems, and a line about the key at the
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
    /// How far the text was checked; showProblems() was given the results.
    struct CheckState {
        bool isEmpty = false, isChecked = false, isConnected = false;
        QString trouble;  ///< why the daemon could not check it
    };
    /// "Checking…", "No problems", "No mistakes, 2 warnings", "Columns are not checked: …".
    void showCheck(const CheckState& state);
    void openFind();

 private:
    void showHelp();
    void showCheck(Tone tone, const QString& sentence);

    YamlEditor* editor_;
    FindBar* find_;
    QListWidget* list_;
    ElidedLabel* help_;
    ElidedLabel* check_;
    int numErrors_ = 0, numWarnings_ = 0;  // in the list
};

}  // namespace millrace::gui
