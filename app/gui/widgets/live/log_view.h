#pragma once
// LogView: the log of a run: filter, level colours, follow, pause, find, copy, wrap.
//
// A bar over a painter (LogCanvas) that lays out only the visible lines, so that 50,000 lines a
// second cost no more than fifty. Scrolling up stops following; End or the button at the bottom
// resumes at the newest line.
//
// One search field: with the funnel on only matching lines are shown, off they are highlighted.
// Keys: / or Ctrl+F to the field, Enter and Shift+Enter (F3, Shift+F3) to the next and previous
// match, Space pauses, End follows, W wraps, Ctrl+A and Ctrl+C select and copy, E and Shift+E to
// the next and previous error. Threads: the GUI thread. Owns: its widgets, not the model.
#include <QPointer>
#include <QSettings>
#include <QWidget>

#include "app/gui/models/live/log_model.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QTimer;
class QToolButton;

namespace millrace::gui {

class LogCanvas;

class LogView : public QWidget {
    Q_OBJECT

 public:
    explicit LogView(QWidget* parent = nullptr);
    ~LogView() override;

    /// nullptr: shows the empty text.
    void setModel(LogModel* model);
    LogModel* model() const { return model_; }
    /// Shown if the run has no line yet; tell the user what to do.
    void setEmptyText(const QString& text);

    /// Search, levels and buttons: above the lines, unless it is moved into a card's header.
    QWidget* bar() const { return bar_; }
    /// The height of the log that shows this many lines, without the bar.
    int heightOf(int lines) const;

    bool isFollowing() const;
    void follow();
    void setWrapped(bool isWrapped);
    bool isWrapped() const;
    void focusLog();
    void focusFilter();
    /// The first visible row, for tests and to keep the position.
    int topRow() const;
    void showRow(int row);

    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 Q_SIGNALS:
    /// Lines were copied to the clipboard: one sentence for the status bar.
    void copied(const QString& sentence);

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void build();
    QWidget* buildBar();
    QToolButton* addButton(QHBoxLayout* bar, const QString& text, const QString& toolTip);
    void addLevels();
    void connectBar();
    void connectCanvas();
    void applyFilter();
    void placeFollowButton();
    void refreshStatus();
    void refreshWorkers();
    void findNext(bool isBackward);
    void findError(bool isBackward);
    void copy();

    QPointer<LogModel> model_;
    QLineEdit* field_ = nullptr;
    QToolButton* onlyButton_ = nullptr;
    QToolButton* regexButton_ = nullptr;
    QToolButton* caseButton_ = nullptr;
    QToolButton* wrapButton_ = nullptr;
    QToolButton* pauseButton_ = nullptr;
    QToolButton* followButton_ = nullptr;
    QTimer* typing_ = nullptr;  ///< waits for a whole word before it searches
    QComboBox* levelBox_ = nullptr;
    QComboBox* workerBox_ = nullptr;
    QLabel* statusLabel_ = nullptr;
    QWidget* bar_ = nullptr;
    LogCanvas* canvas_ = nullptr;
};

}  // namespace millrace::gui
