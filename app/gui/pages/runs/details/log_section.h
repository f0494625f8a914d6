#pragma once
// The log of one run, followed while it is visible.
//
// Threads: the GUI thread. Owns: the lines, and the stream while it is open.
#include <QWidget>
#include <memory>
#include <string>

namespace millrace::gui {

class DaemonBridge;
class Following;
class LogModel;
class LogView;

class LogSection final : public QWidget {
    Q_OBJECT

 public:
    LogSection(DaemonBridge& daemon, QWidget* parent);
    ~LogSection() override;

    /// "": none. Opens the stream when the section becomes visible.
    void setRun(const std::string& id);
    LogModel& model() const { return *model_; }
    LogView& view() const { return *view_; }
    bool isFollowing() const { return following_ != nullptr; }

 Q_SIGNALS:
    void copied(const QString& sentence);

 protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

 private:
    void open();

    DaemonBridge& daemon_;
    LogModel* model_;
    LogView* view_;
    std::string id_;
    std::unique_ptr<Following> following_;
};

}  // namespace millrace::gui
