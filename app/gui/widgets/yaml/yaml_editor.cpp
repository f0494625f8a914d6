#include "app/gui/widgets/yaml/yaml_editor.h"

#include <QHelpEvent>
#include <QMimeData>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>
#include <QToolTip>
#include <algorithm>

#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/completion_popup.h"
#include "app/gui/widgets/yaml/yaml_gutter.h"

namespace millrace::gui {
namespace {

constexpr int kTypingMs = 40;  // pause in typing before suggestions

}  // namespace

YamlEditor::YamlEditor(QWidget* parent)
    : QPlainTextEdit(parent),
      highlighter_(new YamlHighlighter(document())),
      gutter_(new YamlGutter(this)),
      popup_(new CompletionPopup(this)) {
    setLineWrapMode(NoWrap);
    setAccessibleName(tr("Spec"));
    setFrameShape(NoFrame);
    setTabChangesFocus(false);
    setMouseTracking(true);
    typingTimer_.setSingleShot(true);
    typingTimer_.setInterval(kTypingMs);
    connect(&typingTimer_, &QTimer::timeout, this, [this] {
        suggest(false);
        updateHint();
    });
    connect(this, &QPlainTextEdit::blockCountChanged, this, [this] { layOutGutter(); });
    connect(this, &QPlainTextEdit::updateRequest, gutter_, [this](const QRect& rect, int dy) {
        if (dy != 0) {
            gutter_->scroll(0, dy);
        } else {
            gutter_->update(0, rect.y(), gutter_->width(), rect.height());
        }
    });
    connect(this, &QPlainTextEdit::cursorPositionChanged, this, [this] {
        showMarks();
        gutter_->update();
        if (!isTyped_ && popup_->isOpen()) {
            popup_->dismiss();
        }
        typingTimer_.start();
    });
    connect(popup_, &CompletionPopup::chosen, this, [this](const Completion& c) { accept(c); });
    applyTheme();
}

// The base class clears the document in its destructor: disconnect first.
YamlEditor::~YamlEditor() {
    disconnect(this, nullptr, this, nullptr);
    disconnect(this, nullptr, gutter_, nullptr);
    delete highlighter_;
}

QString YamlEditor::problemWithText(const QString& text) {
    if (text.size() > kSpecTextMax) {
        return QStringLiteral(
                   "The text has %1 characters; a spec has at most 1 MB (is this the right file?).")
            .arg(QLocale::c().toString(text.size()));
    }
    const auto nul = text.indexOf(u'\0');
    if (nul >= 0) {
        return tr("This is not text: there is a zero byte at character %1.").arg(nul + 1);
    }
    qsizetype start = 0;
    for (int line = 1; start <= text.size(); ++line) {
        const auto found = text.indexOf(u'\n', start);
        const auto end = found < 0 ? text.size() : found;
        if (end - start > kLineMax) {
            return tr("Line %1 has %2 characters; no line of a spec is that long.")
                .arg(line)
                .arg(QLocale::c().toString(end - start));
        }
        start = end + 1;
    }
    return {};
}

void YamlEditor::open(const QString& text) {
    popup_->dismiss();
    problems_.clear();
    setPlainText(text);
    document()->setModified(false);
    showMarks();
}

void YamlEditor::apply(const TextEdits& edits) {
    QTextCursor cursor(document());
    cursor.beginEditBlock();
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {  // earlier places stay
        cursor.setPosition(edit->begin);
        cursor.setPosition(edit->end, QTextCursor::KeepAnchor);
        cursor.insertText(edit->text);
    }
    cursor.endEditBlock();
}

void YamlEditor::setProblems(std::vector<EditorProblem> problems) {
    if (problems == problems_) {
        return;
    }
    problems_ = std::move(problems);
    showMarks();
    gutter_->update();
}

int YamlEditor::placeOf(const EditorProblem& problem) const {
    const QTextBlock block = document()->findBlockByNumber(problem.line - 1);
    if (!block.isValid()) {
        return -1;
    }
    const QString text = block.text();
    int place = 0;
    for (int i = 1; i < problem.column && place < text.size(); ++i) {
        place += text[place].isHighSurrogate() ? 2 : 1;  // columns count code points
    }
    return block.position() + place;
}

/// The text to underline: the token that begins there, or a word, and at least one character.
QTextCursor YamlEditor::problemCursor(const EditorProblem& problem) const {
    const int place = placeOf(problem);
    QTextCursor cursor(document());
    if (problem.line <= 0 || place < 0) {
        return {};
    }
    cursor.setPosition(place);
    const QTextBlock block = cursor.block();
    const int inLine = place - block.position();
    int end = inLine;
    for (const SpecToken& token : analysis().tokensOf(block.blockNumber())) {
        if (token.begin <= inLine && token.end > inLine) {
            end = token.end;
        }
    }
    const QString text = block.text();
    const bool isLoose = end == inLine;
    while (isLoose && end < text.size() && (text[end].isLetterOrNumber() || text[end] == u'_')) {
        ++end;
    }
    end = std::clamp(end, std::min<int>(inLine + 1, static_cast<int>(text.size())),
                     static_cast<int>(text.size()));
    if (end == inLine && inLine > 0) {  // nothing left: the last character of the line
        cursor.setPosition(place - 1);
    }
    cursor.setPosition(block.position() + end, QTextCursor::KeepAnchor);
    return cursor;
}

void YamlEditor::addProblemMarks(QList<QTextEdit::ExtraSelection>& marks) const {
    const ThemeColors& colors = colorsOf(palette());
    for (const EditorProblem& problem : problems_) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = problemCursor(problem);
        if (mark.cursor.isNull()) {
            continue;
        }
        mark.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
        mark.format.setUnderlineColor(problem.isWarning ? colors.warn : colors.bad);
        if (!problem.isWarning) {
            mark.format.setBackground(colors.badBack);
        }
        marks << mark;
    }
}

void YamlEditor::showMarks() {
    const ThemeColors& colors = colorsOf(palette());
    QList<QTextEdit::ExtraSelection> marks;
    QTextEdit::ExtraSelection line;
    line.cursor = textCursor();
    line.cursor.clearSelection();
    line.format.setBackground(mixed(colors.surface, colors.text, 0.05));
    line.format.setProperty(QTextFormat::FullWidthSelection, true);
    marks << line;
    addProblemMarks(marks);
    if (!foundText_.isEmpty()) {
        QTextCursor found(document());
        while (marks.size() < 500) {  // each one is drawn at every paint
            found = document()->find(foundText_, found);
            if (found.isNull()) {
                break;
            }
            QTextEdit::ExtraSelection mark;
            mark.cursor = found;
            mark.format.setBackground(colors.warnBack);
            marks << mark;
        }
    }
    setExtraSelections(marks);
}

void YamlEditor::applyTheme() {
    const ThemeColors& colors = colorsOf(palette());
    const QFont mono = monoFont(parentWidget() != nullptr ? parentWidget()->font() : QFont());
    if (font() != mono) {
        setFont(mono);
    }
    setTabStopDistance(2 * fontMetrics().horizontalAdvance(u' '));
    highlighter_->setColors(colors);
    layOutGutter();
    showMarks();
}

void YamlEditor::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        applyTheme();
    }
}

KeyHelp YamlEditor::keyHelp() const {
    const SpecAnalysis& known = analysis();
    return known.syntax().root() < 0
               ? KeyHelp{}
               : keyHelpAt(known.syntax(), known.meanings(), textCursor().position());
}

void YamlEditor::goTo(int line, int column) {
    const int place = placeOf({line, std::max(column, 1), {}, false});
    if (place >= 0) {
        QTextCursor cursor = textCursor();
        cursor.setPosition(place);
        setTextCursor(cursor);
        centerCursor();
    }
    setFocus();
}

void YamlEditor::goToProblem(int index) {
    if (index >= 0 && index < static_cast<int>(problems_.size())) {
        const EditorProblem& problem = problems_[static_cast<std::size_t>(index)];
        goTo(std::max(problem.line, 1), problem.column);
    }
}

void YamlEditor::goToNextProblem(int direction) {
    std::vector<int> places;
    for (const EditorProblem& problem : problems_) {
        const int place = problem.line > 0 ? placeOf(problem) : -1;
        if (place >= 0) {
            places.push_back(place);
        }
    }
    if (places.empty()) {
        return;
    }
    std::ranges::sort(places);
    const int here = textCursor().position();
    int next = direction > 0 ? places.front() : places.back();
    if (direction > 0) {
        const auto found = std::upper_bound(places.begin(), places.end(), here);
        next = found != places.end() ? *found : next;
    } else {
        const auto found = std::lower_bound(places.begin(), places.end(), here);
        next = found != places.begin() ? *(found - 1) : next;
    }
    QTextCursor cursor = textCursor();
    cursor.setPosition(next);
    setTextCursor(cursor);
    centerCursor();
    setFocus();
}

bool YamlEditor::find(const QString& needle, bool isBackward, bool fromHere) {
    if (needle.isEmpty()) {
        return false;
    }
    QTextCursor start = textCursor();
    if (fromHere) {
        start.setPosition(start.selectionStart());
    }
    const auto flags = isBackward ? QTextDocument::FindBackward : QTextDocument::FindFlags();
    QTextCursor found = document()->find(needle, start, flags);
    if (found.isNull()) {  // wraps around
        QTextCursor edge(document());
        edge.movePosition(isBackward ? QTextCursor::End : QTextCursor::Start);
        found = document()->find(needle, edge, flags);
    }
    if (!found.isNull()) {
        setTextCursor(found);
        centerCursor();
    }
    return !found.isNull();
}

int YamlEditor::countOf(const QString& needle) const {
    return needle.isEmpty() ? 0 : static_cast<int>(text().count(needle, Qt::CaseInsensitive));
}

void YamlEditor::markFound(const QString& needle) {
    foundText_ = needle;
    showMarks();
}

QString YamlEditor::problemAt(const QPoint& position, bool isGutter) const {
    const QTextCursor here = cursorForPosition({isGutter ? 0 : position.x(), position.y()});
    QStringList messages;
    for (const EditorProblem& problem : problems_) {
        const QTextCursor place = problemCursor(problem);
        const bool isLine = isGutter && problem.line == here.blockNumber() + 1;
        const bool isPlace = !isGutter && !place.isNull() &&
                             here.position() >= place.selectionStart() &&
                             here.position() <= place.selectionEnd();
        if (isLine || isPlace) {
            messages << problem.message;
        }
    }
    return messages.join(u'\n');
}

QString YamlEditor::toolTipAt(const QPoint& position) const {
    const QString problem = problemAt(position, false);
    const SpecAnalysis& known = analysis();
    if (!problem.isEmpty() || known.syntax().root() < 0) {
        return problem;
    }
    const KeyHelp help =
        keyHelpAt(known.syntax(), known.meanings(), cursorForPosition(position).position());
    if (help.path.isEmpty()) {
        return {};
    }
    const QString fallback =
        help.fallback.isEmpty() ? QString() : tr(", default %1").arg(help.fallback);
    return QStringLiteral("<p><b>%1</b> (%2%3)<br>%4</p>")
        .arg(help.path.toHtmlEscaped(), help.kind.toHtmlEscaped(), fallback.toHtmlEscaped(),
             help.doc.toHtmlEscaped());
}

bool YamlEditor::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), toolTipAt(help->pos()), viewport());
        return true;
    }
    return QPlainTextEdit::viewportEvent(event);
}

int YamlEditor::gutterWidth() const {
    const int digits = std::max(3, static_cast<int>(QString::number(blockCount()).size()));
    return kSpaceLarge + digits * fontMetrics().horizontalAdvance(u'9') + kSpaceMedium;
}

void YamlEditor::layOutGutter() {
    setViewportMargins(gutterWidth() + kSpaceTiny, 0, 0, 0);
    const QRect area = contentsRect();
    gutter_->setGeometry(area.left(), area.top(), gutterWidth(), area.height());
}

void YamlEditor::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    layOutGutter();
    if (hasFocus()) {
        ensureCursorVisible();
    }
    isTyped_ = popup_->isOpen();  // it opens again at the cursor's new place
    popup_->dismiss();
    typingTimer_.start();
}

void YamlEditor::scrollContentsBy(int dx, int dy) {
    QPlainTextEdit::scrollContentsBy(dx, dy);
    if (!isTyped_) {
        popup_->dismiss();
    }
}

void YamlEditor::paintGutter(QPainter& painter, const QRect& rect) const {
    const ThemeColors& colors = colorsOf(palette());
    painter.fillRect(rect, colors.surface);
    painter.setPen(colors.border);
    painter.drawLine(gutterWidth() - 1, rect.top(), gutterWidth() - 1, rect.bottom());
    painter.setFont(font());
    painter.setRenderHint(QPainter::Antialiasing);
    const int height = fontMetrics().height();
    const int right = gutterWidth() - kSpaceSmall;
    QTextBlock block = firstVisibleBlock();
    qreal top = blockBoundingGeometry(block).translated(contentOffset()).top();
    for (; block.isValid() && top <= rect.bottom(); block = block.next()) {
        const int line = block.blockNumber() + 1;
        const bool isHere = textCursor().blockNumber() + 1 == line;
        painter.setPen(isHere ? colors.text : colors.faint);
        painter.drawText(0, static_cast<int>(top), right, height, Qt::AlignRight,
                         QString::number(line));
        bool hasError = false, hasWarning = false;
        for (const EditorProblem& problem : problems_) {
            hasError = hasError || (problem.line == line && !problem.isWarning);
            hasWarning = hasWarning || (problem.line == line && problem.isWarning);
        }
        if (hasError || hasWarning) {
            const double side = height * 0.55;
            paintMark(painter, QRectF(kSpaceTiny, top + (height - side) / 2, side, side),
                      hasError ? Mark::kCross : Mark::kDot, hasError ? colors.bad : colors.warn);
        }
        top += blockBoundingRect(block).height();
    }
}

}  // namespace millrace::gui
