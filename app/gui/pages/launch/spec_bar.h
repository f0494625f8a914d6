#pragma once
// SpecBar: the open spec's path and base directory, open, save, recent specs, and unsaved changes.
//
// Threads: the GUI thread.
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

class QMenu;

namespace millrace::gui {

class SpecBar final : public QFrame {
    Q_OBJECT

 public:
    explicit SpecBar(QWidget* parent = nullptr);

    void showDocument(const QString& path, const QString& baseDir, bool isModified);
    void showRecent(const QStringList& paths, const QStringList& drafts);
    void showDisk(bool isChanged) { disk_->setVisible(isChanged); }
    void focusPath();
    QLineEdit* pathField() const { return path_; }

 Q_SIGNALS:
    void openWanted(const QString& path);
    void chooseWanted();
    void newWanted();
    void saveWanted();
    void draftWanted(int index);
    void baseDirGiven(const QString& path);
    void reloadWanted();
    void keepWanted();

 private:
    void buildPath();
    void buildBase();
    void buildDisk();
    QToolButton* button(const QString& text, const QString& tip);

    QLineEdit *path_, *base_;
    QLabel* state_;
    QToolButton *recent_, *save_;
    QFrame* disk_;
    QMenu* menu_;
};

}  // namespace millrace::gui
