#pragma once
// SpecFiles: opens, saves and remembers specs for the Launch page.
//
// The bridge reads and writes files; a change on disk by another program is reported, not loaded.
// Threads: the GUI thread. Failure: failed() with one sentence that names the file.
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

/// Makes a dialog for a spec's file, which fileSelected() reports. Not shown yet.
QFileDialog* specDialog(QWidget* parent, const QString& title, QFileDialog::AcceptMode mode,
                        const QString& directory);

class SpecFiles final : public QObject {
    Q_OBJECT

 public:
    /// A spec that was open, with unsaved changes.
    struct Draft {
        QString title, text, path, baseDir;
        std::vector<std::string> sets{};
    };

    SpecFiles(DaemonBridge& daemon, SpecDocument& document, QObject* parent);

    void open(const QString& path);
    void save(const QString& path);
    /// Opens text without a file; the previous document becomes a draft if it has changes. Returns
    /// false if the text cannot be opened.
    bool openText(const QString& text, const QString& baseDir) { return show(text, {}, baseDir); }
    void openDraft(int index);
    void reload() { open(path_); }
    void keepMine() { setChangedOnDisk(false); }

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
