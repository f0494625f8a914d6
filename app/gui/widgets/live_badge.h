#pragma once
// LiveBadge: LIVE, FROZEN or, while the daemon is unreachable, OFFLINE, as a button: pressing it
// follows the newest data again.
//
// Threads: the GUI thread.
#include <QAbstractButton>

#include "app/gui/widgets/badge.h"

namespace millrace::gui {

class LiveBadge final : public QAbstractButton {
    Q_OBJECT

 public:
    explicit LiveBadge(QWidget* parent = nullptr);
    void setLive(bool isLive);
    bool isLive() const { return isLive_; }
    /// No new data arrives.
    void setAway(bool isAway);
    QString word() const { return look().text; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
    void paintEvent(QPaintEvent* event) override;

 private:
    BadgeLook look() const;
    bool isLive_ = true, isAway_ = false;
};

}  // namespace millrace::gui
