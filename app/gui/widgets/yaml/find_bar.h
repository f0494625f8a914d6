#pragma once
// FindBar: searches the spec: a field, the number of matches, next and previous.
//
// Threads: the GUI thread.
#include <QFrame>
#include <QLabel>
#include <QLineEdit>

namespace millrace::gui {

class YamlEditor;

class FindBar final : public QFrame {
    Q_OBJECT

 public:
    explicit FindBar(YamlEditor* editor, QWidget* parent = nullptr);
    /// Opens with the selected text.
    void open();
    void dismiss();

 protected:
    void keyPressEvent(QKeyEvent* event) override;

 private:
    void step(bool isBackward, bool fromHere);

    YamlEditor& editor_;
    QLineEdit* field_;
    QLabel* count_;
};

}  // namespace millrace::gui
