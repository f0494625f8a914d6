#pragma once
// The note of one run: Markdown, read as text and edited in place.
//
// F2, Enter or a double click edits, Ctrl+Enter saves, Escape gives up. What was written stands at
// once; when the daemon refuses it, the old note is back, the text waits in the editor, and the
// sentence says why. Threads: the GUI thread.
#include <QWidget>
#include <string>

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;
class QTextBrowser;

namespace millrace::gui {

class DaemonBridge;
class EmptyState;
class MessageStrip;

class NoteSection final : public QWidget {
    Q_OBJECT

 public:
    NoteSection(DaemonBridge& daemon, QWidget* parent);

    /// The run's note as the daemon has it. A text that is being edited stays.
    void showNote(const std::string& runId, const QString& note);
    void edit();
    void save();
    void cancel();
    bool isEditing() const;
    bool isSaving() const { return isSaving_; }
    const QString& note() const { return note_; }
    QPlainTextEdit& editor() const { return *editor_; }
    QString error() const;

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void build();
    QWidget* buildEditor();
    QWidget* buildReader();
    void show();
    void taken(const std::string& runId, const QString& before, const QString& written,
               const QString& error);

    DaemonBridge& daemon_;
    std::string id_;
    QString note_;
    bool isSaving_ = false;
    QStackedWidget* stack_;
    EmptyState* empty_;
    QTextBrowser* reader_ = nullptr;
    QPlainTextEdit* editor_ = nullptr;
    MessageStrip* error_ = nullptr;
};

}  // namespace millrace::gui
