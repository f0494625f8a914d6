#pragma once
// ConnectionBar: the bar at the top: one chip per known daemon, a field to add one, and below it
// the current problem as a sentence.
//
// It shows KnownDaemons and emits signals for the user's actions. Keyboard: Tab and the arrow keys
// between chips, Space or Return selects, Delete removes. Threads: the GUI thread.
#include <QAbstractButton>
#include <QFrame>
#include <functional>
#include <vector>

#include "app/gui/models/known_daemons.h"

class QCompleter;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QTimer;
class QToolButton;

namespace millrace::gui {

/// A daemon in the bar: a mark for its state, its name, and how stale it is.
class DaemonChip final : public QAbstractButton {
    Q_OBJECT

 public:
    explicit DaemonChip(QWidget* parent = nullptr);
    void present(const KnownDaemon& daemon, bool isCurrent, std::int64_t nowMs);
    const std::string& address() const { return address_; }
    /// The badge, "stale 12 s"; "" without one.
    const QString& badge() const { return stale_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

 Q_SIGNALS:
    void removeAsked();
    void leave(int direction);  ///< to the previous chip (-1) or the next (1)

 protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

 private:
    std::string address_;
    QString name_, stale_;
    session::LinkState state_ = session::LinkState::kConnecting;
    bool isCurrent_ = false, isOwn_ = false, isProbed_ = false;
};

class ConnectionBar final : public QWidget {
    Q_OBJECT

 public:
    /// `now`: UTC ms.
    ConnectionBar(KnownDaemons& daemons, std::function<std::int64_t()> now,
                  QWidget* parent = nullptr);
    /// Opens the field for a new daemon.
    void startAdding();
    const std::vector<DaemonChip*>& chips() const { return chips_; }
    QLineEdit* field() const { return field_; }
    /// The sentence below the field; "" while the address is valid.
    QString fieldProblem() const;
    /// The current daemon's problem; "" while all is well.
    QString problem() const;

 Q_SIGNALS:
    /// `daemons` has made it the current one already.
    void chosen(const std::string& address);
    void retryAsked();
    /// The field was opened: its suggestions may be read again.
    void addingStarted();
    void paletteAsked();
    void themeAsked();
    /// One sentence: "Copied millrace up".
    void said(const QString& sentence);

 protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    QWidget* makeRow();
    QWidget* makeAdder();
    QWidget* makeProblem();
    void refresh();
    void refreshProblem();
    void offerHosts();
    void checkField();
    void addFromField();
    void stopAdding();
    void moveFocus(const DaemonChip* from, int direction);
    void copyCommand();
    DaemonChip* makeChip();

    KnownDaemons& daemons_;
    std::function<std::int64_t()> now_;
    std::vector<DaemonChip*> chips_;
    QHBoxLayout* chipRow_ = nullptr;
    QWidget *adder_ = nullptr, *problemRow_ = nullptr;
    QLineEdit* field_ = nullptr;
    QLabel *fieldProblem_ = nullptr, *problem_ = nullptr;
    QToolButton *copy_ = nullptr, *theme_ = nullptr;
    QCompleter* completer_ = nullptr;
    QTimer* tick_ = nullptr;
};

}  // namespace millrace::gui
