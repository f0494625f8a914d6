#include "app/gui/widgets/live/log_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QStringList>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/live/log_canvas.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

// A filter looks through all kept lines: once for a word, not for each letter.
constexpr int kTypingMs = 120;
constexpr int kFieldWidth = 260;

QString lines(std::uint64_t count) {
    return count == 1 ? QStringLiteral("1 line")
                      : countText(static_cast<double>(count)) + QStringLiteral(" lines");
}

}  // namespace

LogView::LogView(QWidget* parent) : QWidget(parent) {
    build();
    connectBar();
    connectCanvas();
    refreshStatus();
}

LogView::~LogView() = default;

void LogView::build() {
    auto* column = boxIn<QVBoxLayout>(this, 0);
    bar_ = buildBar();
    column->addWidget(bar_);
    canvas_ = new LogCanvas(this);
    column->addWidget(canvas_, 1);
    // Floats over the lines, so that it takes no room from them.
    followButton_ = new QToolButton(canvas_->viewport());
    followButton_->setText(tr("Newest line  End"));
    followButton_->setIcon(icon(Glyph::kChevronDown));
    followButton_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    followButton_->setCursor(Qt::ArrowCursor);
    followButton_->setFocusPolicy(Qt::NoFocus);
    followButton_->hide();
    canvas_->viewport()->installEventFilter(this);
    typing_ = new QTimer(this);
    typing_->setSingleShot(true);
    typing_->setInterval(kTypingMs);
}

QWidget* LogView::buildBar() {
    auto* bar = new QWidget(this);
    auto* row =
        boxIn<QHBoxLayout>(bar, kSpaceTiny, {kSpaceSmall, kSpaceTiny, kSpaceSmall, kSpaceTiny});
    field_ = new SearchField(tr("Search the log  /"), bar);
    field_->setMaximumWidth(kFieldWidth);
    field_->setMinimumWidth(kFieldWidth / 2);
    field_->installEventFilter(this);
    row->addWidget(field_, 2);
    onlyButton_ = addButton(row, {}, tr("Show only the lines that match"));
    onlyButton_->setIcon(icon(Glyph::kFilter));
    onlyButton_->setChecked(true);
    regexButton_ = addButton(row, QStringLiteral(".*"), tr("Regular expression"));
    caseButton_ = addButton(row, QStringLiteral("Aa"), tr("Upper and lower case differ"));
    levelBox_ = new QComboBox(bar);
    addLevels();
    workerBox_ = new QComboBox(bar);
    workerBox_->setToolTip(tr("Whose lines"));
    workerBox_->addItem(tr("All workers"), QString());
    row->addWidget(levelBox_);
    row->addWidget(workerBox_);
    statusLabel_ = styled<ElidedLabel>("dim", bar, Qt::ElideRight);
    row->addWidget(statusLabel_, 3);
    wrapButton_ = addButton(row, tr("Wrap"), tr("Break long lines  W"));
    pauseButton_ = addButton(row, tr("Pause"), tr("Hold new lines back; they are counted  Space"));
    pauseButton_->setIcon(icon(Glyph::kPause));
    pauseButton_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    return bar;
}

int LogView::heightOf(int lines) const {
    return lines * canvas_->lineHeight() + 2 * canvas_->frameWidth();
}

QToolButton* LogView::addButton(QHBoxLayout* bar, const QString& text, const QString& toolTip) {
    auto* button = new QToolButton(this);
    button->setText(text);
    button->setToolTip(toolTip);
    button->setAccessibleName(toolTip);
    button->setCheckable(true);
    button->setAutoRaise(true);
    bar->addWidget(button);
    return button;
}

void LogView::addLevels() {
    const auto add = [this](const QString& text, values::LogLevel level) {
        levelBox_->addItem(text, static_cast<int>(level));
    };
    levelBox_->setToolTip(tr("The least serious level that is shown"));
    add(tr("All levels"), values::LogLevel::kNone);
    add(tr("Info +"), values::LogLevel::kInfo);
    add(tr("Warnings +"), values::LogLevel::kWarn);
    add(tr("Errors"), values::LogLevel::kError);
}

void LogView::connectBar() {
    connect(field_, &QLineEdit::textChanged, typing_, qOverload<>(&QTimer::start));
    connect(typing_, &QTimer::timeout, this, &LogView::applyFilter);
    for (QToolButton* button : {onlyButton_, regexButton_, caseButton_}) {
        connect(button, &QToolButton::toggled, this, &LogView::applyFilter);
    }
    for (QComboBox* box : {levelBox_, workerBox_}) {
        connect(box, &QComboBox::activated, this, &LogView::applyFilter);
    }
    connect(wrapButton_, &QToolButton::toggled, this, &LogView::setWrapped);
    connect(pauseButton_, &QToolButton::toggled, this, [this](bool isPaused) {
        if (model_ != nullptr) {
            model_->setPaused(isPaused);
        }
    });
}

void LogView::connectCanvas() {
    connect(followButton_, &QToolButton::clicked, this, &LogView::follow);
    connect(canvas_, &LogCanvas::followingChanged, this, [this](bool isFollowing) {
        followButton_->setVisible(!isFollowing);
        placeFollowButton();
    });
    setFocusProxy(canvas_);
}

void LogView::setModel(LogModel* model) {
    if (model == model_) {
        return;
    }
    if (model_ != nullptr) {
        model_->disconnect(this);
    }
    model_ = model;
    canvas_->setModel(model);
    if (model != nullptr) {
        connect(model, &LogModel::statusChanged, this, &LogView::refreshStatus);
    }
    applyFilter();
    refreshStatus();
}

void LogView::setEmptyText(const QString& text) {
    canvas_->setEmptyText(text);
}

void LogView::applyFilter() {
    typing_->stop();
    const TextMatcher matcher(field_->text(), regexButton_->isChecked(), caseButton_->isChecked());
    // Matches are highlighted in either case; with the funnel on, the other lines are hidden, too.
    canvas_->setHighlight(matcher);
    if (model_ == nullptr) {
        return;
    }
    LogFilter filter;
    filter.text = onlyButton_->isChecked() ? field_->text() : QString();
    filter.isRegex = regexButton_->isChecked();
    filter.isCaseSensitive = caseButton_->isChecked();
    filter.levelMin = static_cast<values::LogLevel>(levelBox_->currentData().toInt());
    filter.worker = workerBox_->currentData().toString();
    model_->setFilter(filter);
    if (!onlyButton_->isChecked() && !field_->text().isEmpty()) {
        const int at = model_->find(matcher, canvas_->topRow(), false);
        canvas_->setCurrentRow(at);
    }
    refreshStatus();
}

void LogView::refreshWorkers() {
    const QString chosen = workerBox_->currentData().toString();
    QStringList workers = {QString()};  // all of them
    for (const QString& worker : model_->workers()) {
        workers << worker;
    }
    if (!workers.contains(chosen)) {
        workers << chosen;  // of the run that was shown before
    }
    QStringList offered;
    for (int i = 0; i < workerBox_->count(); ++i) {
        offered << workerBox_->itemData(i).toString();
    }
    if (offered == workers) {
        return;
    }
    workerBox_->clear();
    for (const QString& worker : workers) {
        workerBox_->addItem(worker.isEmpty() ? tr("All workers") : worker, worker);
    }
    workerBox_->setCurrentIndex(workerBox_->findData(chosen));
}

void LogView::refreshStatus() {
    auto* label = static_cast<ElidedLabel*>(statusLabel_);
    if (model_ == nullptr) {
        label->setFullText({});
        return;
    }
    refreshWorkers();
    // The model is paused already: toggled() must not call it again.
    const QSignalBlocker quiet(pauseButton_);
    pauseButton_->setChecked(model_->isPaused());
    QStringList parts;
    const QString error = model_->filterError();
    if (!error.isEmpty()) {
        parts << tr("this expression cannot be read %1").arg(error);
    }
    const auto rows = static_cast<std::uint64_t>(model_->rowCount());
    parts << (model_->filter() == LogFilter{} || rows == model_->numLines()
                  ? lines(model_->numLines())
                  : tr("%1 of %2")
                        .arg(countText(static_cast<double>(rows)), lines(model_->numLines())));
    // The number of lines is never cut; the title and the search field leave it the room.
    label->ensurePolished();  // else the width is that of another font
    label->setMinimumWidth(label->fontMetrics().horizontalAdvance(parts.back()) + kSpaceMedium);
    if (model_->isFiltering()) {
        parts << tr("looking at older lines");
    }
    if (model_->isPaused()) {
        parts << tr("paused: %1 more").arg(lines(model_->numHeld()));
    }
    if (model_->numDropped() > 0) {
        parts << tr("%1 missing").arg(lines(model_->numDropped()));
    }
    if (model_->numEvicted() > 0) {
        parts << tr("older ones are not kept here");
    }
    label->setFullText(parts.join(QStringLiteral("  ·  ")));
}

void LogView::placeFollowButton() {
    const QSize size = followButton_->sizeHint();
    followButton_->setGeometry(canvas_->viewport()->width() - size.width() - kSpaceLarge,
                               canvas_->viewport()->height() - size.height() - kSpaceSmall,
                               size.width(), size.height());
}

bool LogView::eventFilter(QObject* watched, QEvent* event) {
    // Fields send events before canvas_ is made.
    if (canvas_ != nullptr && watched == canvas_->viewport() && event->type() == QEvent::Resize) {
        placeFollowButton();
    }
    if (watched == field_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            applyFilter();
            findNext(key->modifiers().testFlag(Qt::ShiftModifier));
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            field_->clear();
            applyFilter();
            canvas_->setFocus();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void LogView::keyPressEvent(QKeyEvent* event) {
    const bool isShift = event->modifiers().testFlag(Qt::ShiftModifier);
    if (event->matches(QKeySequence::Copy)) {
        copy();
    } else if (event->matches(QKeySequence::SelectAll)) {
        canvas_->selectAllRows();
    } else if (event->matches(QKeySequence::Find) || event->key() == Qt::Key_Slash) {
        focusFilter();
    } else if (event->key() == Qt::Key_F3) {
        findNext(isShift);
    } else if (event->key() == Qt::Key_Space) {
        pauseButton_->toggle();
    } else if (event->key() == Qt::Key_W && !event->modifiers().testFlag(Qt::ControlModifier)) {
        setWrapped(!isWrapped());
    } else if (event->key() == Qt::Key_E && !event->modifiers().testFlag(Qt::ControlModifier)) {
        findError(isShift);
    } else {
        QWidget::keyPressEvent(event);
    }
}

void LogView::findNext(bool isBackward) {
    if (model_ == nullptr || field_->text().isEmpty()) {
        return;
    }
    const TextMatcher matcher(field_->text(), regexButton_->isChecked(), caseButton_->isChecked());
    const int current = canvas_->currentRow();
    // From the row behind the current one, so that pressing the key again goes on.
    const int from = current < 0 ? canvas_->topRow() : current + (isBackward ? -1 : 1);
    canvas_->setCurrentRow(model_->find(matcher, from, isBackward));
}

void LogView::findError(bool isBackward) {
    if (model_ == nullptr) {
        return;
    }
    const int current = canvas_->currentRow();
    const int from = current < 0 ? canvas_->topRow() : current + (isBackward ? -1 : 1);
    canvas_->setCurrentRow(model_->findLevel(values::LogLevel::kError, from, isBackward));
}

void LogView::copy() {
    const auto rows = canvas_->selectedRows();
    if (model_ == nullptr || !rows) {
        return;
    }
    QApplication::clipboard()->setText(model_->textOf(rows->first, rows->second));
    const auto count = static_cast<std::uint64_t>(rows->second - rows->first + 1);
    Q_EMIT copied(tr("Copied %1 of the log.").arg(lines(count)));
}

bool LogView::isFollowing() const {
    return canvas_->isFollowing();
}

void LogView::follow() {
    canvas_->setFollowing(true);
}

void LogView::setWrapped(bool isWrapped) {
    const QSignalBlocker quiet(wrapButton_);
    wrapButton_->setChecked(isWrapped);
    canvas_->setWrapped(isWrapped);
}

bool LogView::isWrapped() const {
    return canvas_->isWrapped();
}

void LogView::focusLog() {
    canvas_->setFocus(Qt::ShortcutFocusReason);
}

void LogView::focusFilter() {
    field_->setFocus(Qt::ShortcutFocusReason);
    field_->selectAll();
}

int LogView::topRow() const {
    return canvas_->topRow();
}

void LogView::showRow(int row) {
    canvas_->setCurrentRow(row);
}

void LogView::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("log/wrap"), isWrapped());
    settings.setValue(QStringLiteral("log/level"), levelBox_->currentIndex());
    settings.setValue(QStringLiteral("log/onlyMatches"), onlyButton_->isChecked());
}

void LogView::restoreState(QSettings& settings) {
    setWrapped(settings.value(QStringLiteral("log/wrap"), false).toBool());
    levelBox_->setCurrentIndex(
        qBound(0, settings.value(QStringLiteral("log/level"), 0).toInt(), levelBox_->count() - 1));
    onlyButton_->setChecked(settings.value(QStringLiteral("log/onlyMatches"), true).toBool());
    applyFilter();
}

}  // namespace millrace::gui
