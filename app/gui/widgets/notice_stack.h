#pragma once
// Sentences for the user, at the window's foot: over the page, right above the status bar.
//
// What was done goes by itself after some seconds (not while the mouse or the focus is on it);
// errors stay until they are closed. The newest stands lowest. Bounded: beyond kMostShown the
// oldest that is no error leaves, then the oldest. Threads: the GUI thread.
#include <QFrame>
#include <functional>
#include <vector>

class QVBoxLayout;

namespace millrace::gui {

struct Toast {
    enum class Kind { kInfo, kDone, kError } kind = Kind::kInfo;
    QString text;
    QString actionText;  ///< "Undo"; "": none
    std::function<void()> action;
};

/// One sentence with its buttons.
class ToastCard final : public QFrame {
    Q_OBJECT

 public:
    ToastCard(const Toast& toast, QWidget* parent);
    const Toast& toast() const { return toast_; }
    void act();

 Q_SIGNALS:
    void done();

 protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void timerEvent(QTimerEvent* event) override;

 private:
    Toast toast_;
    int msLeft_ = 0;
};

class NoticeStack final : public QWidget {
    Q_OBJECT

 public:
    /// Notices stand above a widget of this name: it has buttons that act.
    static constexpr char kFoot[] = "notices-above";
    static constexpr int kMostShown = 5;
    /// `area`: what it stands in, at the right lower corner.
    explicit NoticeStack(QWidget* area);
    void add(const Toast& toast);
    /// Moves to where the page that is shown leaves room, in front of it.
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
