#pragma once
// NoticeStack: sentences for the user at the bottom of the window: over the page, right above the
// status bar.
//
// A success disappears after some seconds (not while the mouse or the focus is on it); errors stay
// until they are closed. The newest is lowest. Bounded: beyond kMostShown it removes the oldest
// success, and if there is none, the oldest error. Threads: the GUI thread.
#include <QFrame>
#include <functional>
#include <vector>

class QVBoxLayout;

namespace millrace::gui {

/// A sentence for the user, shown for some seconds at the bottom of the window; errors stay until
/// closed.
struct Notice {
    enum class Kind { kInfo, kDone, kError } kind = Kind::kInfo;
    QString text;
    QString actionText;  ///< "Undo"; "": none
    std::function<void()> action;
};

/// One sentence with its buttons.
class ToastCard final : public QFrame {
    Q_OBJECT

 public:
    ToastCard(const Notice& notice, QWidget* parent);
    const Notice& notice() const { return notice_; }
    void act();

 Q_SIGNALS:
    void done();

 protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void timerEvent(QTimerEvent* event) override;

 private:
    Notice notice_;
    int msLeft_ = 0;
};

class NoticeStack final : public QWidget {
    Q_OBJECT

 public:
    /// Notices are placed above a widget of this name: it has action buttons.
    static constexpr char kFoot[] = "notices-above";
    static constexpr int kMostShown = 5;
    /// `area`: its parent; it is in the lower right corner.
    explicit NoticeStack(QWidget* area);
    void add(const Notice& notice);
    /// Moves to where the visible page leaves room, in front of it.
    void place();
    const std::vector<ToastCard*>& cards() const { return cards_; }
    /// The newest action that is still offered ("Undo ..."); null: none.
    ToastCard* newestAction() const;
    void closeNewest();

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void drop(ToastCard* card);

    QVBoxLayout* column_;
    std::vector<ToastCard*> cards_;  // oldest first
};

}  // namespace millrace::gui
