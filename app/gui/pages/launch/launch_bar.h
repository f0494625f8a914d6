#pragma once
// What is launched and with what: project, tags, note, the summary, and the button.
//
// Threads: the GUI thread.
#include <QFrame>
#include <QLineEdit>
#include <QPushButton>
#include <map>
#include <string>

#include "app/gui/widgets/panels.h"

namespace millrace::gui {

class LaunchBar final : public QFrame {
    Q_OBJECT

 public:
    explicit LaunchBar(QWidget* parent = nullptr);

    QString project() const { return project_->text().trimmed(); }
    QString note() const { return note_->text().trimmed(); }
    /// Of "key=value, key=value"; `problem` says what is wrong with them.
    std::map<std::string, std::string> tags(QString* problem = nullptr) const;
    QString tagText() const { return tags_->text(); }
    void setFields(const QString& project, const QString& tags, const QString& note);

    /// "3 runs: base, keep-30, keep-10", or what has to be done first.
    void showSummary(const QString& summary, bool canLaunch);
    void showLaunching(bool isLaunching);
    const ElidedLabel* summary() const { return summary_; }
    QPushButton* button() const { return launch_; }

 Q_SIGNALS:
    void launchWanted();
    void copyWanted();

 private:
    QLineEdit* field(const QString& label, const QString& placeholder, int width);
    void checkTags();

    QHBoxLayout* layout_;
    QLineEdit *project_, *tags_, *note_;
    ElidedLabel* summary_;
    QPushButton *copy_, *launch_;
    bool canLaunch_ = false, isLaunching_ = false;
};

/// "3 runs: base, keep-30, keep-10".
QString launchSummary(const QStringList& variations, bool hasBase);
/// The commands of the same launch; `path`: as it is saved.
QString launchCommand(const QString& path, const QStringList& variations, bool hasBase, bool areAll,
                      const LaunchBar& bar);

}  // namespace millrace::gui
