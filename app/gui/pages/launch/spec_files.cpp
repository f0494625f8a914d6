#include "app/gui/pages/launch/spec_files.h"

#include <QDir>
#include <QFileInfo>
#include <QTimer>
#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/widgets/yaml/yaml_editor.h"

namespace millrace::gui {
namespace {

constexpr int kRecentMax = 12;
constexpr std::size_t kDraftsMax = 5;
constexpr int kSettleMs = 100;

}  // namespace

QFileDialog* specDialog(QWidget* parent, const QString& title, QFileDialog::AcceptMode mode,
                        const QString& directory) {
    auto* dialog = new QFileDialog(parent, title, directory,
                                   QFileDialog::tr("Specs (*.yaml *.yml);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(mode);
    dialog->setFileMode(mode == QFileDialog::AcceptOpen ? QFileDialog::ExistingFile
                                                        : QFileDialog::AnyFile);
    dialog->setDefaultSuffix(QStringLiteral("yaml"));
    return dialog;
}

SpecFiles::SpecFiles(DaemonBridge& daemon, SpecDocument& document, QObject* parent)
    : QObject(parent), daemon_(daemon), document_(document) {
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, [this] {
        // Wait a moment for an editor that renames a file over the old one.
        QTimer::singleShot(kSettleMs, this, [this] { lookAtDisk(); });
    });
}

bool SpecFiles::show(const QString& text, const QString& path, const QString& baseDir) {
    QString clean = text;
    clean.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
    const QString problem = YamlEditor::problemWithText(clean);
    if (!problem.isEmpty()) {
        const QString name = path.isEmpty() ? tr("the text") : QFileInfo(path).fileName();
        Q_EMIT failed(tr("Cannot open %1: %2").arg(name, problem));
        return false;
    }
    const bool isSame = path == path_ && !path.isEmpty();
    if (!isSame) {
        keepDraft();
    }
    hasCarriageReturns_ = clean.size() != text.size();
    path_ = path;
    textOnDisk_ = clean;
    document_.open(clean, path, baseDir);
    watch(path);
    setChangedOnDisk(false);
    return true;
}

void SpecFiles::open(const QString& path) {
    const QString absolute = QDir::cleanPath(QDir::current().absoluteFilePath(path));
    ++numPending_;
    daemon_.readSpecFile(absolute.toStdString(), this, [this, absolute](Result<std::string> text) {
        --numPending_;
        if (!text.ok()) {
            Q_EMIT failed(qtext(messageOf(text.status())));
            return;
        }
        const QString read = qtext(*text);
        if (show(read, absolute, QFileInfo(absolute).absolutePath())) {
            remember(absolute);
        }
    });
}

void SpecFiles::openDraft(int index) {
    if (index < 0 || index >= static_cast<int>(drafts_.size())) {
        return;
    }
    const Draft draft = drafts_[static_cast<std::size_t>(index)];
    drafts_.erase(drafts_.begin() + index);
    const QString onDisk = draft.path == path_ ? textOnDisk_ : QString();
    if (show(draft.text, draft.path, draft.baseDir)) {
        // A draft has unsaved changes, and still has them.
        document_.open(onDisk, draft.path, draft.baseDir);
        document_.setText(draft.text);
        document_.setSets(draft.sets);
    }
    Q_EMIT recentChanged();
}

bool SpecFiles::keepDraft() {
    if (!document_.isModified() || document_.isEmpty()) {
        return false;
    }
    Draft draft;
    draft.text = document_.text();
    draft.path = document_.path();
    draft.baseDir = document_.baseDir();
    draft.sets = document_.sets();
    draft.title = draft.path.isEmpty() ? tr("an unsaved spec") : QFileInfo(draft.path).fileName();
    drafts_.insert(drafts_.begin(), draft);
    if (drafts_.size() > kDraftsMax) {
        drafts_.pop_back();
    }
    Q_EMIT draftKept(draft.title);
    Q_EMIT recentChanged();
    return true;
}

void SpecFiles::save(const QString& path) {
    QString text = document_.text();
    const QString written = text;
    if (hasCarriageReturns_) {
        text.replace(QStringLiteral("\n"), QStringLiteral("\r\n"));
    }
    ++numPending_;
    daemon_.writeTextFile(path.toStdString(), text.toStdString(), this,
                          [this, path, written](Result<std::string> done) {
                              --numPending_;
                              if (!done.ok()) {
                                  Q_EMIT failed(qtext(messageOf(done.status())));
                                  return;
                              }
                              path_ = path;
                              textOnDisk_ = written;
                              if (document_.text() == written) {
                                  document_.saved(path);
                              }
                              watch(path);
                              setChangedOnDisk(false);
                              remember(path);
                              Q_EMIT saved(path);
                          });
}

void SpecFiles::remember(const QString& path) {
    recent_.removeAll(path);
    recent_.prepend(path);
    while (recent_.size() > kRecentMax) {
        recent_.removeLast();
    }
    Q_EMIT recentChanged();
}

void SpecFiles::watch(const QString& path) {
    if (!watcher_.files().isEmpty()) {
        watcher_.removePaths(watcher_.files());
    }
    if (!path.isEmpty()) {
        watcher_.addPath(path);
    }
}

void SpecFiles::lookAtDisk() {
    if (path_.isEmpty()) {
        return;
    }
    const QString path = path_;
    ++numPending_;
    daemon_.readSpecFile(path.toStdString(), this, [this, path](Result<std::string> text) {
        --numPending_;
        if (path != path_) {
            return;
        }
        watch(path);
        QString now = text.ok() ? QString::fromStdString(*text) : QString();
        now.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
        if (text.ok() && now == document_.text()) {
            textOnDisk_ = now;
            document_.saved(path);
        }
        setChangedOnDisk(now != textOnDisk_);
    });
}

void SpecFiles::setChangedOnDisk(bool isChanged) {
    if (isChanged != isChangedOnDisk_) {
        isChangedOnDisk_ = isChanged;
        Q_EMIT diskChanged(isChanged);
    }
}

}  // namespace millrace::gui
