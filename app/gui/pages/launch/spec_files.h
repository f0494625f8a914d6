#pragma once
// Opening, saving and remembering specs: the document's way to the disk and back.
//
// Files are read and written by the bridge; a change on the disk by somebody else is told, not
// taken. Threads: the GUI thread. Failure: failed() with one sentence that names the file.
#include <QFileDialog>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QStringList>
#include <string>
#include <vector>

namespace millrace::gui {

class DaemonBridge;
class SpecDocument;

/// Asks for a file of a spec, which its fileSelected() says. Not shown yet.
QFileDialog* specDialog(QWidget* parent, const QString& title, QFileDialog::AcceptMode mode,
                        const QString& directory);

class SpecFiles final : public QObject {
    Q_OBJECT

 public:
    /// A spec that was open, with changes that were not saved.
    struct Draft {
        QString title, text, path, baseDir;
        std::vector<std::string> sets{};
    };

    SpecFiles(DaemonBridge& daemon, SpecDocument& document, QObject* parent);

    void open(const QString& path);
    void save(const QString& path);
    /// Text of no file; the one before is kept as a draft when it has changes. False where the text
    /// cannot be opened.
    bool openText(const QString& text, const QString& baseDir);
    void openDraft(int index);
    void reload() { open(path_); }
    void keepMine();

    bool isBusy() const { return numPending_ > 0; }
    const QStringList& recent() const { return recent_; }
    void setRecent(const QStringList& paths) { recent_ = paths; }
    const std::vector<Draft>& drafts() const { return drafts_; }

 Q_SIGNALS:
    void failed(const QString& sentence);
    void saved(const QString& path);
    void diskChanged(bool isChanged);
    void draftKept(const QString& title);
    void recentChanged();

 private:
    bool show(const QString& text, const QString& path, const QString& baseDir);
    bool keepDraft();
    void remember(const QString& path);
    void watch(const QString& path);
    void lookAtDisk();
    void setChangedOnDisk(bool isChanged);

    DaemonBridge& daemon_;
    SpecDocument& document_;
    QFileSystemWatcher watcher_;
    QStringList recent_;
    std::vector<Draft> drafts_;
    QString path_, textOnDisk_;
    bool isChangedOnDisk_ = false, hasCarriageReturns_ = false;
    int numPending_ = 0;
};

}  // namespace millrace::gui
