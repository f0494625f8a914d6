#pragma once
// The log of a run to read: filter, level colours, follow, pause, find, copy, wrap.
//
// A bar over a painter (LogCanvas) that lays out only the lines that are visible, so that 50,000
// lines a second cost no more than fifty. Scrolling up stops following; End or the button at the
// foot goes on with the newest line.
//
// One field searches: with the funnel on only the lines that match are shown, off they are marked.
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

    /// nullptr: the empty text.
    void setModel(LogModel* model);
    LogModel* model() const { return model_; }
    /// What to read where the run has no line yet; say what to do.
    void setEmptyText(const QString& text);

    bool isFollowing() const;
    void follow();
    void setWrapped(bool isWrapped);
    bool isWrapped() const;
    void focusLog();
    void focusFilter();
    /// The first row that is visible, for tests and to keep the place.
    int topRow() const;
    void showRow(int row);

    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 Q_SIGNALS:
    /// Something went to the clipboard: one sentence for the status bar.
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
    QTimer* typing_ = nullptr;  ///< a word is searched when it is typed, not letter by letter
    QComboBox* levelBox_ = nullptr;
    QComboBox* workerBox_ = nullptr;
    QLabel* statusLabel_ = nullptr;
    LogCanvas* canvas_ = nullptr;
};

}  // namespace millrace::gui
