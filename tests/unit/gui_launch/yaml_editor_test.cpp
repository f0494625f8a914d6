#include "app/gui/widgets/yaml/yaml_editor.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMimeData>
#include <QTest>
#include <QTextBlock>
#include <QTextLayout>

#include <gtest/gtest.h>

#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/completion_popup.h"
#include "tests/support/gui_poll.h"

namespace millrace::gui {
namespace {

class YamlEditorTest : public testing::Test {
 protected:
    YamlEditorTest() {
        editor.resize(900, 600);
        editor.show();
        editor.setFocus();
    }
    /// `marked`: a text with a bar where the cursor is.
    void show(const QString& marked) {
        const auto place = marked.lastIndexOf(u'|');
        QString text = marked;
        text.remove(place, 1);
        editor.open(text);
        QTextCursor cursor = editor.textCursor();
        cursor.setPosition(static_cast<int>(place));
        editor.setTextCursor(cursor);
    }
    QString shown() {
        QString text = editor.text();
        return text.insert(editor.textCursor().position(), u'|');
    }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(&editor, key, modifiers);
    }

    YamlEditor editor;
};

TEST_F(YamlEditorTest, KeepsTheIndentAndDeepensItBehindAColon) {
    show(QStringLiteral("train:|"));
    key(Qt::Key_Return);
    EXPECT_EQ(shown(), QStringLiteral("train:\n  |"));
    show(QStringLiteral("train:\n  optimizer: sgd|"));
    key(Qt::Key_Return);
    EXPECT_EQ(shown(), QStringLiteral("train:\n  optimizer: sgd\n  |"));
    show(QStringLiteral("recipe:\n  - join:|"));
    key(Qt::Key_Return);
    EXPECT_EQ(shown(), QStringLiteral("recipe:\n  - join:\n      |"));
    show(QStringLiteral("recipe:\n  - name: x|"));
    key(Qt::Key_Return);
    EXPECT_EQ(shown(), QStringLiteral("recipe:\n  - name: x\n    |"));
}

TEST_F(YamlEditorTest, IndentsByTwoBlanks) {
    show(QStringLiteral("a|"));
    key(Qt::Key_Tab);
    EXPECT_EQ(editor.text(), QStringLiteral("a "));
    show(QStringLiteral("|a"));
    key(Qt::Key_Tab);
    EXPECT_EQ(shown(), QStringLiteral("  |a"));
    key(Qt::Key_Backspace);
    EXPECT_EQ(shown(), QStringLiteral("|a"));
    editor.open(QStringLiteral("a:\nb:\n\nc:\n"));
    editor.selectAll();
    key(Qt::Key_Tab);
    EXPECT_EQ(editor.text(), QStringLiteral("  a:\n  b:\n\n  c:\n"));
    editor.selectAll();
    key(Qt::Key_Backtab, Qt::ShiftModifier);
    EXPECT_EQ(editor.text(), QStringLiteral("a:\nb:\n\nc:\n"));
}

TEST_F(YamlEditorTest, CommentsAndUncommentsLines) {
    editor.open(QStringLiteral("a:\n  b: 1\n\n  c: 2\n"));
    editor.selectAll();
    key(Qt::Key_Slash, Qt::ControlModifier);
    EXPECT_EQ(editor.text(), QStringLiteral("# a:\n#   b: 1\n\n#   c: 2\n"));
    editor.selectAll();
    key(Qt::Key_Slash, Qt::ControlModifier);
    EXPECT_EQ(editor.text(), QStringLiteral("a:\n  b: 1\n\n  c: 2\n"));
}

TEST_F(YamlEditorTest, UndoesEditsOfThePageAsOneStep) {
    editor.open(QStringLiteral("a: 1\nb: 2\n"));
    editor.apply({{3, 4, QStringLiteral("10")}, {8, 9, QStringLiteral("20")}});
    EXPECT_EQ(editor.text(), QStringLiteral("a: 10\nb: 20\n"));
    editor.undo();
    EXPECT_EQ(editor.text(), QStringLiteral("a: 1\nb: 2\n"));
    editor.redo();
    EXPECT_EQ(editor.text(), QStringLiteral("a: 10\nb: 20\n"));
}

TEST_F(YamlEditorTest, CompletesAndGoesOnWithTheValues) {
    show(QStringLiteral("train:\n  opt|"));
    key(Qt::Key_Space, Qt::ControlModifier);
    ASSERT_TRUE(editor.popup().isOpen());
    EXPECT_EQ(editor.popup().current()->label, QStringLiteral("optimizer"));
    key(Qt::Key_Return);
    EXPECT_EQ(shown(), QStringLiteral("train:\n  optimizer: |"));
    ASSERT_TRUE(editor.popup().isOpen());
    key(Qt::Key_Down);
    key(Qt::Key_Tab);
    EXPECT_EQ(shown(), QStringLiteral("train:\n  optimizer: adagrad|"));
    EXPECT_FALSE(editor.popup().isOpen());
}

TEST_F(YamlEditorTest, SuggestsWhileOneTypesAndEscapeCloses) {
    show(QStringLiteral("|"));
    QTest::keyClicks(&editor, QStringLiteral("mod"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return editor.popup().isOpen(); }));
    key(Qt::Key_Escape);
    EXPECT_FALSE(editor.popup().isOpen());
}

TEST_F(YamlEditorTest, ShowsTheSignatureOfACall) {
    show(QStringLiteral("recipe:\n  - filter: substr|"));
    QTest::keyClicks(&editor, QStringLiteral("(title, "));
    EXPECT_TRUE(QTest::qWaitFor([&] { return editor.popup().hasHint(); }));
}

TEST_F(YamlEditorTest, GoesThroughTheProblems) {
    editor.open(QStringLiteral("a: 1\nb: 2\nc: 3\n"));
    editor.setProblems(
        {{2, 4, QStringLiteral("second"), false}, {3, 1, QStringLiteral("third"), false}});
    key(Qt::Key_F8);
    EXPECT_EQ(editor.textCursor().blockNumber(), 1);
    EXPECT_EQ(editor.textCursor().positionInBlock(), 3);
    key(Qt::Key_F8);
    EXPECT_EQ(editor.textCursor().blockNumber(), 2);
    key(Qt::Key_F8);
    EXPECT_EQ(editor.textCursor().blockNumber(), 1);
    key(Qt::Key_F8, Qt::ShiftModifier);
    EXPECT_EQ(editor.textCursor().blockNumber(), 2);
}

TEST_F(YamlEditorTest, UnderlinesAProblemAtItsPlaceInCodePoints) {
    editor.open(QStringLiteral("a: \U0001F600x bad\n"));
    editor.setProblems({{1, 7, QStringLiteral("here"), false}});
    bool isFound = false;
    for (const QTextEdit::ExtraSelection& mark : editor.extraSelections()) {
        if (mark.format.underlineStyle() == QTextCharFormat::WaveUnderline) {
            isFound = true;
            EXPECT_LE(mark.cursor.selectionStart(), 7);
            EXPECT_GE(mark.cursor.selectionEnd(), 8);
        }
    }
    EXPECT_TRUE(isFound);
}

TEST_F(YamlEditorTest, RefusesWhatIsNoSpec) {
    QString refusal;
    QObject::connect(&editor, &YamlEditor::refused, &editor,
                     [&](const QString& sentence) { refusal = sentence; });
    QGuiApplication::clipboard()->setText(QString(8 << 20, u'x'));
    editor.paste();
    EXPECT_TRUE(refusal.contains(QStringLiteral("1 MB")));
    EXPECT_TRUE(editor.text().isEmpty());
    EXPECT_FALSE(YamlEditor::problemWithText(QStringLiteral("a") + QChar(0)).isEmpty());
    EXPECT_FALSE(YamlEditor::problemWithText(QString(200'000, u'x')).isEmpty());
    EXPECT_TRUE(YamlEditor::problemWithText(QString(20'000, u'x')).isEmpty());
}

TEST_F(YamlEditorTest, FindsAround) {
    editor.open(QStringLiteral("keep: 1\nname: keep\n"));
    EXPECT_EQ(editor.countOf(QStringLiteral("keep")), 2);
    EXPECT_TRUE(editor.find(QStringLiteral("keep"), false, false));
    EXPECT_EQ(editor.textCursor().selectionStart(), 0);
    EXPECT_TRUE(editor.find(QStringLiteral("keep"), false, false));
    EXPECT_EQ(editor.textCursor().blockNumber(), 1);
    EXPECT_TRUE(editor.find(QStringLiteral("keep"), false, false));
    EXPECT_EQ(editor.textCursor().blockNumber(), 0);
    EXPECT_FALSE(editor.find(QStringLiteral("nothing"), false, false));
}

TEST(YamlColors, HaveEnoughContrastInBothThemes) {
    for (const ThemeColors* colors : {&darkColors(), &lightColors()}) {
        for (int i = 0; i <= static_cast<int>(SpecToken::Kind::kLiteral); ++i) {
            const QColor color = tokenColor(static_cast<SpecToken::Kind>(i), *colors);
            EXPECT_GE(contrastRatio(color, colors->surface), 4.5) << i << colors->isDark;
        }
    }
}

TEST(YamlHighlighter, RepaintsTheLinesThatAChangeAboveConcerns) {
    QTextDocument document;
    document.documentLayout();  // a document that no widget shows reports no changes
    document.setPlainText(QStringLiteral("recipe:\n  - deriv:\n      a: x + 1\n      b: y\n"));
    YamlHighlighter highlighter(&document);
    highlighter.setColors(darkColors());
    const auto colorAt = [&](int line, int place) {
        for (const QTextLayout::FormatRange& range :
             document.findBlockByNumber(line).layout()->formats()) {
            if (place >= range.start && place < range.start + range.length) {
                return range.format.foreground().color();
            }
        }
        return QColor();
    };
    test::letTimersRun(std::chrono::milliseconds(
        1));  // the base class paints a new document when the event loop turns
    const QColor column = tokenColor(SpecToken::Kind::kColumn, darkColors());
    EXPECT_NE(colorAt(3, 9), column);
    QTextCursor cursor(&document);
    cursor.setPosition(static_cast<int>(document.toPlainText().indexOf(QStringLiteral("deriv:"))) +
                       5);
    cursor.insertText(QStringLiteral("e"));
    EXPECT_EQ(highlighter.analysis().tokensOf(3).back().kind, SpecToken::Kind::kColumn);
    EXPECT_EQ(document.findBlockByNumber(1).text(), QStringLiteral("  - derive:"));
    EXPECT_EQ(document.findBlockByNumber(1).userState(), highlighter.analysis().stateBehind(1));
    EXPECT_EQ(document.findBlockByNumber(2).userState(), highlighter.analysis().stateBehind(2));
    EXPECT_EQ(colorAt(3, 9), column);
}

}  // namespace
}  // namespace millrace::gui
