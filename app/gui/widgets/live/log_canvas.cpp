#include "app/gui/widgets/live/log_canvas.h"

#include <QDateTime>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTextLayout>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kLinePad = 8;
constexpr int kWorkerCharsMax = 14;

// Removes terminal controls (colours and cursor moves); a tab becomes blanks.
QString displayText(std::string_view utf8) {
    QString text = qtext(utf8);
    qsizetype escape = text.indexOf(QChar(0x1b));
    while (escape >= 0) {
        qsizetype end = escape + 1;
        if (end < text.size() && text[end] == QLatin1Char('[')) {
            ++end;
            while (end < text.size() && (text[end] < QChar(0x40) || text[end] > QChar(0x7e))) {
                ++end;
            }
        }
        text.remove(escape, std::min(end + 1, text.size()) - escape);
        escape = text.indexOf(QChar(0x1b), escape);
    }
    text.replace(QLatin1Char('\t'), QStringLiteral("    "));
    text.remove(QLatin1Char('\r'));
    std::ranges::replace_if(text, isBidiControl, QChar(QChar::ReplacementCharacter));
    return text;
}

bool isNarrow(const QString& text) {
    return std::ranges::all_of(text, [](QChar c) { return c.unicode() < 0x300; });
}

// Start and length of the pieces that fit into the width.
std::vector<std::pair<int, int>> piecesOf(const QString& text, int width, int charWidth,
                                          const QFont& font) {
    std::vector<std::pair<int, int>> pieces;
    if (isNarrow(text)) {
        const int columns = std::max(8, width / std::max(1, charWidth));
        for (int at = 0; at < text.size() || at == 0; at += columns) {
            pieces.emplace_back(at, std::min(columns, static_cast<int>(text.size()) - at));
        }
        return pieces;
    }
    QTextLayout layout(text, font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAnywhere);
    layout.setTextOption(option);
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        pieces.emplace_back(line.textStart(), line.textLength());
    }
    layout.endLayout();
    return pieces;
}

struct LevelLook {
    QChar letter;
    QColor color, back;
};
LevelLook lookOf(values::LogLevel level, const ThemeColors& colors) {
    switch (level) {
        case values::LogLevel::kError:
            return {QLatin1Char('E'), colors.bad, colors.badBack};
        case values::LogLevel::kWarn:
            return {QLatin1Char('W'), colors.warn, colors.warnBack};
        case values::LogLevel::kInfo:
            return {QLatin1Char('I'), colors.dim, {}};
        case values::LogLevel::kDebug:
            return {QLatin1Char('D'), colors.faint, {}};
        case values::LogLevel::kNone:
            break;
    }
    return {QLatin1Char(' '), colors.text, {}};
}

}  // namespace

LogCanvas::LogCanvas(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setFont(monoFont(font()));
    setAccessibleName(tr("Log"));
    setMinimumHeight(fontMetrics().height() * 3);
    viewport()->setCursor(Qt::IBeamCursor);
}

void LogCanvas::setModel(LogModel* model) {
    if (model_ != nullptr) {
        model_->disconnect(this);
    }
    model_ = model;
    if (model != nullptr) {
        connect(model, &LogModel::modelReset, this, &LogCanvas::modelChanged);
        connect(model, &LogModel::rowsInserted, this,
                [this](const QModelIndex&, int first, int last) {
                    rowsInsertedAt(first, last - first + 1);
                });
        connect(model, &LogModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) {
                    rowsRemovedAt(first, last - first + 1);
                });
    }
    anchor_.reset();
    current_.reset();
    isFollowing_ = true;
    modelChanged();
    Q_EMIT followingChanged(true);
}

void LogCanvas::setEmptyText(const QString& text) {
    emptyText_ = text;
    viewport()->update();
}

void LogCanvas::setHighlight(const TextMatcher& matcher) {
    highlight_ = matcher;
    viewport()->update();
}

void LogCanvas::setFollowing(bool isFollowing) {
    if (isFollowing == isFollowing_) {
        return;
    }
    topRow_ = isFollowing ? topRow_ : lastTopRow();
    isFollowing_ = isFollowing;
    updateBars();
    viewport()->update();
    Q_EMIT followingChanged(isFollowing_);
}

void LogCanvas::setWrapped(bool isWrapped) {
    isWrapped_ = isWrapped;
    updateBars();
    viewport()->update();
}

void LogCanvas::setTop(int row) {
    const int last = lastTopRow();
    topRow_ = std::clamp(row, 0, last);
    const bool follows = row >= last;
    if (follows != isFollowing_) {
        isFollowing_ = follows;
        Q_EMIT followingChanged(follows);
    }
    updateBars();
    viewport()->update();
}

void LogCanvas::showRow(int row) {
    const std::vector<Placed> rows = placed();
    const bool isVisible = std::ranges::any_of(rows, [&](const Placed& place) {
        return place.row == row && place.y >= 0 && place.y + place.height <= viewport()->height();
    });
    if (!isVisible) {
        const int lines = viewport()->height() / std::max(1, columns().lineHeight);
        setTop(row - lines / 2);
    }
}

int LogCanvas::currentRow() const {
    if (!current_ || model_ == nullptr) {
        return -1;
    }
    const int row = model_->rowOfSequence(*current_);
    return row < model_->rowCount() ? row : -1;
}

void LogCanvas::setCurrentRow(int row) {
    if (model_ == nullptr || row < 0 || row >= model_->rowCount()) {
        return;
    }
    anchor_ = current_ = model_->row(row).sequence;
    showRow(row);
    viewport()->update();
}

std::optional<std::pair<int, int>> LogCanvas::selectedRows() const {
    if (!anchor_ || !current_ || model_ == nullptr || model_->rowCount() == 0) {
        return std::nullopt;
    }
    const auto [low, high] = std::minmax(*anchor_, *current_);
    const int first = model_->rowOfSequence(low);
    int last = model_->rowOfSequence(high);
    if (last >= model_->rowCount() || model_->row(last).sequence > high) {
        --last;
    }
    return first <= last ? std::optional(std::pair(first, last)) : std::nullopt;
}

void LogCanvas::selectAllRows() {
    if (model_ != nullptr && model_->rowCount() > 0) {
        anchor_ = model_->row(0).sequence;
        current_ = model_->row(model_->rowCount() - 1).sequence;
        viewport()->update();
    }
}

LogCanvas::Columns LogCanvas::columns() const {
    const QFontMetrics metrics(font());
    Columns c;
    c.lineHeight = metrics.height() + 1;
    c.charWidth = std::max(1, metrics.horizontalAdvance(QLatin1Char('0')));
    c.time = kLinePad;
    c.level = c.time + 12 * c.charWidth + c.charWidth;
    c.worker = c.level + 2 * c.charWidth + c.charWidth / 2;
    int chars = 0;
    for (const QString& worker : model_ != nullptr ? model_->workers() : QStringList()) {
        chars = std::max(chars, static_cast<int>(worker.size()));
    }
    c.text = c.worker + (std::min(chars, kWorkerCharsMax) + 2) * c.charWidth;
    c.textWidth = std::max(8 * c.charWidth, viewport()->width() - c.text - kLinePad);
    return c;
}

int LogCanvas::numPieces(int row, const Columns& columns) const {
    if (!isWrapped_) {
        return 1;
    }
    const LogRow line = model_->row(row);
    return line.isGap() ? 1
                        : static_cast<int>(piecesOf(displayText(line.text), columns.textWidth,
                                                    columns.charWidth, font())
                                               .size());
}

// Lays out from the last line upwards until the height is filled; then from the top.
std::vector<LogCanvas::Placed> LogCanvas::placedFromEnd(const Columns& columns) const {
    std::vector<Placed> rows;
    int bottom = viewport()->height();
    for (int row = model_->rowCount() - 1; row >= 0 && bottom > 0; --row) {
        const int height = numPieces(row, columns) * columns.lineHeight;
        bottom -= height;
        rows.push_back({row, bottom, height});
    }
    std::ranges::reverse(rows);
    if (bottom > 0) {
        for (Placed& place : rows) {
            place.y -= bottom;  // less than a page: aligned to the top
        }
    }
    return rows;
}

std::vector<LogCanvas::Placed> LogCanvas::placed() const {
    if (model_ == nullptr || model_->rowCount() == 0) {
        return {};
    }
    const Columns c = columns();
    if (isFollowing_) {
        return placedFromEnd(c);
    }
    std::vector<Placed> rows;
    for (int row = topRow_, y = 0; row < model_->rowCount() && y < viewport()->height(); ++row) {
        const int height = numPieces(row, c) * c.lineHeight;
        rows.push_back({row, y, height});
        y += height;
    }
    return rows;
}

// The first row of the last page: its first line is fully visible.
int LogCanvas::lastTopRow() const {
    if (model_ == nullptr || model_->rowCount() == 0) {
        return 0;
    }
    const Columns c = columns();
    if (!isWrapped_) {
        return std::max(0, model_->rowCount() - viewport()->height() / c.lineHeight);
    }
    const std::vector<Placed> rows = placedFromEnd(c);
    return rows.front().y < 0 && rows.size() > 1 ? rows[1].row : rows.front().row;
}

int LogCanvas::rowAt(int y) const {
    for (const Placed& place : placed()) {
        if (y < place.y + place.height) {
            return place.row;
        }
    }
    return model_ != nullptr ? model_->rowCount() - 1 : -1;
}

void LogCanvas::modelChanged() {
    topRow_ = 0;
    widestChars_ = 0;
    updateBars();
    viewport()->update();
}

void LogCanvas::rowsInsertedAt(int first, int count) {
    if (!isFollowing_ && first <= topRow_ && topRow_ > 0) {
        topRow_ += count;
    }
    updateBars();
    viewport()->update();
}

void LogCanvas::rowsRemovedAt(int first, int count) {
    if (!isFollowing_ && first <= topRow_) {
        topRow_ = std::max(0, topRow_ - count);
    }
    updateBars();
    viewport()->update();
}

void LogCanvas::updateBars() {
    const Columns c = columns();
    const int last = lastTopRow();
    isMovingBar_ = true;
    verticalScrollBar()->setRange(0, last);
    verticalScrollBar()->setPageStep(std::max(1, viewport()->height() / c.lineHeight));
    verticalScrollBar()->setValue(isFollowing_ ? last : topRow_);
    const int wide = isWrapped_ ? 0 : widestChars_ * c.charWidth - c.textWidth;
    horizontalScrollBar()->setRange(0, std::max(0, wide));
    horizontalScrollBar()->setPageStep(c.textWidth);
    horizontalScrollBar()->setSingleStep(c.charWidth * 4);
    isMovingBar_ = false;
}

void LogCanvas::scrollContentsBy(int, int dy) {
    if (!isMovingBar_ && dy != 0) {
        setTop(verticalScrollBar()->value());
    }
    viewport()->update();
}

void LogCanvas::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    updateBars();
}

void LogCanvas::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateBars();
    }
}

void LogCanvas::wheelEvent(QWheelEvent* event) {
    QAbstractScrollArea::wheelEvent(event);
    // Scrolling up always stops following, even before the bar has moved.
    if (event->angleDelta().y() > 0 && isFollowing_ && lastTopRow() > 0) {
        setTop(lastTopRow() - 1);
    }
    event->accept();
}

void LogCanvas::mousePressEvent(QMouseEvent* event) {
    const int row = rowAt(event->position().toPoint().y());
    if (event->button() != Qt::LeftButton || row < 0) {
        return;
    }
    current_ = model_->row(row).sequence;
    if (!anchor_ || !event->modifiers().testFlag(Qt::ShiftModifier)) {
        anchor_ = current_;
    }
    viewport()->update();
}

void LogCanvas::mouseMoveEvent(QMouseEvent* event) {
    const int y = event->position().toPoint().y();
    if (!event->buttons().testFlag(Qt::LeftButton) || model_ == nullptr ||
        model_->rowCount() == 0) {
        return;
    }
    if (y < 0) {
        setTop(topRow() - 1);
    } else if (y > viewport()->height()) {
        setTop(topRow() + 1);
    }
    current_ = model_->row(std::max(0, rowAt(std::clamp(y, 0, viewport()->height())))).sequence;
    viewport()->update();
}

void LogCanvas::keyPressEvent(QKeyEvent* event) {
    const int page = std::max(1, viewport()->height() / columns().lineHeight - 1);
    switch (event->key()) {
        case Qt::Key_Up:
            setTop(topRow() - 1);
            return;
        case Qt::Key_Down:
            setTop(topRow() + 1);
            return;
        case Qt::Key_PageUp:
            setTop(topRow() - page);
            return;
        case Qt::Key_PageDown:
            setTop(topRow() + page);
            return;
        case Qt::Key_Home:
            setTop(0);
            return;
        case Qt::Key_End:
            setTop(lastTopRow());
            return;
        case Qt::Key_Left:
        case Qt::Key_Right:
            horizontalScrollBar()->triggerAction(event->key() == Qt::Key_Left
                                                     ? QAbstractSlider::SliderSingleStepSub
                                                     : QAbstractSlider::SliderSingleStepAdd);
            return;
        default:
            event->ignore();
    }
}

void LogCanvas::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), colorsOf(palette()).surface);
    painter.setFont(font());
    const std::vector<Placed> rows = placed();
    if (rows.empty()) {
        paintEmpty(painter);
        return;
    }
    const Columns c = columns();
    const int before = widestChars_;
    for (const Placed& place : rows) {
        paintRow(painter, place, c);
    }
    if (widestChars_ != before) {
        updateBars();
    }
}

void LogCanvas::paintEmpty(QPainter& painter) {
    const bool isFiltered = model_ != nullptr && model_->numLines() > 0 && !model_->isFiltering();
    painter.setPen(colorsOf(palette()).dim);
    painter.setFont(QFont(parentWidget() != nullptr ? parentWidget()->font() : font()));
    painter.drawText(viewport()->rect().adjusted(kSpaceLarge, 0, -kSpaceLarge, 0),
                     Qt::AlignCenter | Qt::TextWordWrap,
                     isFiltered ? tr("No line passes the filter.") : emptyText_);
}

void LogCanvas::paintRow(QPainter& painter, const Placed& place, const Columns& c) {
    const ThemeColors& colors = colorsOf(palette());
    const LogRow row = model_->row(place.row);
    const QRect whole(0, place.y, viewport()->width(), place.height);
    const auto selected = selectedRows();
    const LevelLook look = lookOf(row.level, colors);
    if (selected && place.row >= selected->first && place.row <= selected->second) {
        painter.fillRect(whole, colors.selection);
    } else if (look.back.isValid() && !row.isGap()) {
        painter.fillRect(whole, look.back);
    }
    if (row.isGap()) {
        paintGap(painter, place, row);
        return;
    }
    const QRect line(0, place.y, viewport()->width(), c.lineHeight);
    const auto cell = [&](int from, int to) {
        return QRect(from, line.y(), to - from, line.height());
    };
    painter.setPen(colors.faint);
    painter.drawText(
        cell(c.time, c.level), Qt::AlignVCenter,
        QDateTime::fromMSecsSinceEpoch(row.timeMs).toString(QStringLiteral("HH:mm:ss.zzz")));
    painter.setPen(look.color);
    painter.drawText(cell(c.level, c.worker), Qt::AlignVCenter, QString(look.letter));
    painter.setPen(colors.dim);
    const QString worker = painter.fontMetrics().elidedText(
        QString::fromUtf8(row.worker.data(), static_cast<qsizetype>(row.worker.size())),
        Qt::ElideMiddle, c.text - c.worker - 2 * c.charWidth + 2);
    painter.drawText(cell(c.worker, c.text), Qt::AlignVCenter, worker);
    paintText(painter, place, c, row);
}

void LogCanvas::paintGap(QPainter& painter, const Placed& place, const LogRow& row) {
    const ThemeColors& colors = colorsOf(palette());
    const QString text =
        row.numMissing == 1
            ? tr("1 line is missing here")
            : tr("%1 lines are missing here").arg(countText(static_cast<double>(row.numMissing)));
    const int width = painter.fontMetrics().horizontalAdvance(text);
    const int middle = place.y + place.height / 2;
    const int left = (viewport()->width() - width) / 2;
    painter.setPen(colors.warn);
    painter.drawText(QRect(left, place.y, width + 1, place.height), Qt::AlignVCenter, text);
    painter.setPen(QPen(colors.warn, 1, Qt::DotLine));
    painter.drawLine(kLinePad, middle, left - kLinePad, middle);
    painter.drawLine(left + width + kLinePad, middle, viewport()->width() - kLinePad, middle);
}

void LogCanvas::paintText(QPainter& painter, const Placed& place, const Columns& c,
                          const LogRow& row) {
    const ThemeColors& colors = colorsOf(palette());
    const QString text = displayText(row.text);
    const auto marks = highlight_.places(text);
    const bool isLoud = row.level >= values::LogLevel::kWarn;
    painter.save();
    painter.setClipRect(c.text, place.y, c.textWidth + kLinePad, place.height);
    painter.setPen(isLoud                                  ? lookOf(row.level, colors).color
                   : row.level == values::LogLevel::kDebug ? colors.dim
                                                           : colors.text);
    if (!isWrapped_) {
        widestChars_ = std::max(widestChars_, static_cast<int>(text.size()));
        const int shift = horizontalScrollBar()->value();
        paintPiece(painter, QRect(c.text - shift, place.y, c.textWidth + shift, c.lineHeight), text,
                   0, static_cast<int>(text.size()), marks);
    } else {
        int y = place.y;
        for (const auto& [from, length] : piecesOf(text, c.textWidth, c.charWidth, font())) {
            paintPiece(painter, QRect(c.text, y, c.textWidth, c.lineHeight), text, from, length,
                       marks);
            y += c.lineHeight;
        }
    }
    painter.restore();
}

void LogCanvas::paintPiece(QPainter& painter, const QRect& rect, const QString& text, int from,
                           int length, const std::vector<std::pair<int, int>>& marks) {
    const QFontMetrics metrics = painter.fontMetrics();
    for (const auto& [start, size] : marks) {
        const int first = std::max(start, from), last = std::min(start + size, from + length);
        if (first < last) {
            const int x = metrics.horizontalAdvance(text.mid(from, first - from));
            const int width = metrics.horizontalAdvance(text.mid(first, last - first));
            painter.fillRect(QRect(rect.x() + x, rect.y(), width, rect.height()),
                             mixed(colorsOf(palette()).surface, colorsOf(palette()).accent, 0.35));
        }
    }
    painter.drawText(rect, Qt::AlignVCenter | Qt::TextSingleLine | Qt::TextDontClip,
                     text.mid(from, length));
}

}  // namespace millrace::gui
