#pragma once
// Small parts of every page: elided labels, cards, figures, empty states, inline messages, and the
// question before a stop or a delete.
//
// Threads: the GUI thread. Owns: as every QWidget, by its parent.
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <functional>

#include "app/gui/widgets/badge.h"

class QDialog;
class QHBoxLayout;
class QPushButton;
class QVBoxLayout;

namespace millrace::gui {

/// One line of text, elided if it does not fit; the tooltip then has the full text.
class ElidedLabel final : public QLabel {
    Q_OBJECT

 public:
    explicit ElidedLabel(QWidget* parent = nullptr, Qt::TextElideMode mode = Qt::ElideMiddle);
    void setFullText(const QString& text);
    const QString& fullText() const { return fullText_; }
    QSize minimumSizeHint() const override;
    QSize sizeHint() const override;

 protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

 private:
    void elide();
    QString fullText_;
    Qt::TextElideMode mode_;
};

/// A titled surface; put content into body(), small controls into header().
class Card final : public QFrame {
    Q_OBJECT

 public:
    explicit Card(const QString& title, QWidget* parent = nullptr);
    void setTitle(const QString& title) { title_->setFullText(title); }
    QHBoxLayout* header() const { return header_; }  ///< after the title
    QVBoxLayout* body() const { return body_; }

 private:
    ElidedLabel* title_;
    QHBoxLayout* header_;
    QVBoxLayout* body_;
};

/// A value over its caption: "12.4 M" / "rows".
class Figure final : public QWidget {
    Q_OBJECT

 public:
    explicit Figure(const QString& caption, QWidget* parent = nullptr);
    void setValue(const QString& value, const QString& toolTip = {});
    void setCaption(const QString& caption) { caption_->setText(caption); }
    QString value() const { return value_->text(); }
    QString caption() const { return caption_->text(); }

 private:
    QLabel *value_, *caption_;
};

/// Shown if there is nothing: a title, a sentence with what to do, and at most two buttons to do
/// it.
class EmptyState final : public QWidget {
    Q_OBJECT

 public:
    explicit EmptyState(QWidget* parent = nullptr);
    void setText(const QString& title, const QString& sentence);
    /// Buttons keep the order in which they were added; the first is the primary one.
    QPushButton* addButton(const QString& text, QObject* context, std::function<void()> onClick);
    /// A command to be copied, in the fixed font: "millrace up".
    void setCommand(const QString& command);
    const QLabel* title() const { return title_; }
    const QLabel* sentence() const { return sentence_; }

 private:
    QLabel *title_, *sentence_, *command_;
    QHBoxLayout* buttons_;
};

/// A sentence in place: an error below a field, a warning above a table. Hidden while empty; its
/// text can be selected.
class MessageStrip final : public QFrame {
    Q_OBJECT

 public:
    explicit MessageStrip(QWidget* parent = nullptr);
    void setMessage(Tone tone, const QString& sentence);
    void clearMessage() { setMessage(tone_, {}); }
    QString sentence() const { return text_->text(); }

 protected:
    void paintEvent(QPaintEvent* event) override;

 private:
    QLabel* text_;
    Tone tone_ = Tone::kBad;
};

/// A field with a search glyph and a clear button; Down and Return emit signals.
class SearchField final : public QLineEdit {
    Q_OBJECT

 public:
    explicit SearchField(const QString& placeholder, QWidget* parent = nullptr);

 Q_SIGNALS:
    void leftDown();  ///< Down: into the list below

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

/// At the bottom of a dialog with a column layout: "no", and on its right "yes", which is the
/// primary button and the default for Return.
struct DialogButtons {
    QHBoxLayout* row;
    QPushButton *no, *yes;
};
DialogButtons addButtons(QDialog& dialog);

/// Dims a widget that shows old data.
void setDimmed(QWidget& widget, bool isDimmed);

/// Asks without blocking; `onYes` is called if `yesText` ("Stop run keep-30") was chosen. Escape
/// and "Keep" change nothing. The safe button has the focus.
void askFirst(QWidget* parent, const QString& title, const QString& sentence,
              const QString& yesText, std::function<void()> onYes);

}  // namespace millrace::gui
