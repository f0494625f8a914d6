#pragma once
// The note of one run: Markdown, shown as text and edited in place.
//
// F2, Enter or a double click edits, Ctrl+Enter saves, Escape discards. A new note is shown at
// once. If the daemon rejects it, the old note is shown again, the new text stays in the editor,
// and the daemon's sentence explains why. Threads: the GUI thread.
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

    /// Shows the daemon's note for the run. A text that is being edited stays.
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
