#pragma once
// The command palette (Ctrl+Shift+P) and the shortcut sheet (?): two overlays on the window.
//
// Non-modal children in the middle of the window, which take the focus while they are open and
// return it; Escape, a click outside, or an action closes them. Threads: the GUI thread.
#include <QFrame>
#include <QKeySequence>
#include <QPointer>
#include <vector>

#include "app/gui/models/palette_model.h"

class QLineEdit;
class QListView;
class QLabel;
class QVBoxLayout;

namespace millrace::gui {

/// A panel over the window that closes on Escape, or when the focus moves elsewhere.
class Overlay : public QFrame {
    Q_OBJECT

 public:
    explicit Overlay(QWidget* window);
    /// Shows it and remembers the focused widget.
    void open(QWidget* focusInside);
    /// Hides it and returns the focus.
    void dismiss();

 protected:
    /// Its position in a window of this size.
    virtual QRect placeIn(const QSize& window) const = 0;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

 private:
    QPointer<QWidget> focusBefore_;
};

class CommandPalette final : public Overlay {
    Q_OBJECT

 public:
    explicit CommandPalette(QWidget* window);
    /// Opens with these entries and an empty (or given) query.
    void openWith(std::vector<PaletteEntry> entries, const QString& query = {});
    PaletteModel& model() { return model_; }
    QLineEdit* field() const { return field_; }

 protected:
    QRect placeIn(const QSize& window) const override;
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void build();
    void search(const QString& query);
    void moveBy(int rows);
    void runCurrent();

    PaletteModel model_;
    QLineEdit* field_;
    QListView* list_;
    QLabel* hint_;
};

/// A title and its shortcuts, for the sheet.
struct ShortcutGroup {
    QString title;
    struct Line {
        QString text;
        QString keys;  ///< as written: "Ctrl+Shift+P"
    };
    std::vector<Line> lines;
};

class ShortcutSheet final : public Overlay {
    Q_OBJECT

 public:
    explicit ShortcutSheet(QWidget* window);
    void openWith(const std::vector<ShortcutGroup>& groups);
    const std::vector<ShortcutGroup>& groups() const { return groups_; }

 protected:
    QRect placeIn(const QSize& window) const override;

 private:
    void fill();
    void addGroup(QVBoxLayout& column, const ShortcutGroup& group);
    std::vector<ShortcutGroup> groups_;
    QWidget* page_ = nullptr;
};

}  // namespace millrace::gui
