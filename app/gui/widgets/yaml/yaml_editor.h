#pragma once
// YamlEditor: an editor for specs: line numbers, colours, errors in place, completion, comments.
//
// Tab and Shift+Tab indent by two blanks, Return keeps the indent and deepens it after a colon,
// Ctrl+/ comments, Ctrl+Space completes, F8 and Shift+F8 go through the problems. Threads: the GUI
// thread. Failure: refused() rejects text that is too long or binary, with a sentence; the editor
// never holds more than kSpecTextMax characters or a line of more than kLineMax.
#include <QPlainTextEdit>
#include <QTimer>
#include <vector>

#include "app/gui/models/spec/spec_completion.h"
#include "app/gui/models/spec/text_edit.h"
#include "app/gui/widgets/yaml/yaml_highlighter.h"

namespace millrace::gui {

class CompletionPopup;
class YamlGutter;

struct EditorProblem {
    int line = 0, column = 0;  ///< from 1, columns in code points; 0: no position
    QString message;
    bool isWarning = false;
    bool operator==(const EditorProblem&) const = default;
};

class YamlEditor final : public QPlainTextEdit {
    Q_OBJECT

 public:
    static constexpr int kLineMax = 100'000;

    explicit YamlEditor(QWidget* parent = nullptr);
    ~YamlEditor() override;

    /// Why a text cannot be shown; "" if it can.
    static QString problemWithText(const QString& text);
    /// Opens another document: the undo history starts empty.
    void open(const QString& text);
    /// The text as it is.
    QString text() const { return textOf(*document()); }
    const SpecAnalysis& analysis() const { return highlighter_->analysis(); }
    /// Applied as one undo step; the cursor stays where it is.
    void apply(const TextEdits& edits);

    void setProblems(std::vector<EditorProblem> problems);
    const std::vector<EditorProblem>& problems() const { return problems_; }
    void setColumns(KnownColumns columns) { columns_ = std::move(columns); }
    /// Help for the key at the cursor, for the line below the editor.
    KeyHelp keyHelp() const;

    void goToProblem(int index);
    void goToNextProblem(int direction);
    void goTo(int line, int column);
    /// Selects the next match of `needle`; returns false if there is none.
    bool find(const QString& needle, bool isBackward, bool fromHere);
    int countOf(const QString& needle) const;
    void markFound(const QString& needle);

    void complete();
    CompletionPopup& popup() { return *popup_; }
    void toggleComment();
    void indentLines(int direction);

    void paintGutter(QPainter& painter, const QRect& rect) const;
    int gutterWidth() const;
    QString problemAt(const QPoint& position, bool isGutter) const;

 Q_SIGNALS:
    void refused(const QString& sentence);
    void fileDropped(const QString& path);
    void findWanted();

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void scrollContentsBy(int dx, int dy) override;

 private:
    void applyTheme();
    void layOutGutter();
    void showMarks();
    void addProblemMarks(QList<QTextEdit::ExtraSelection>& marks) const;
    QTextCursor problemCursor(const EditorProblem& problem) const;
    int placeOf(const EditorProblem& problem) const;
    bool keyForPopup(QKeyEvent* event);
    bool keyForText(QKeyEvent* event);
    void breakLine();
    bool backspaceIndent();
    void suggest(bool isAsked);
    void updateHint();
    void accept(const Completion& completion);
    void goHome(bool isSelecting);
    QString toolTipAt(const QPoint& position) const;

    YamlHighlighter* highlighter_;
    YamlGutter* gutter_;
    CompletionPopup* popup_;
    QTimer typingTimer_;
    bool isTyped_ = false;
    std::vector<EditorProblem> problems_;
    QString foundText_;
    KnownColumns columns_;
    int completionBegin_ = 0, completionEnd_ = 0;
};

}  // namespace millrace::gui
