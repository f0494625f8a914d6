#include "app/gui/pages/runs/filter_bar.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

using values::RunState;

constexpr int kMostRemembered = 30;

}  // namespace

FilterBar::FilterBar(QWidget* parent) : QWidget(parent) {
    auto* layout = boxIn<QVBoxLayout>(this, kSpaceSmall,
                                      {kSpaceMedium, kSpaceMedium, kSpaceMedium, kSpaceSmall});
    buildLine();
    auto* top = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    top->addWidget(line_, 1);
    tools_ = boxIn<QHBoxLayout>(nullptr, kSpaceTiny);
    top->addLayout(tools_);
    layout->addLayout(top);
    error_ = new MessageStrip(this);
    layout->addWidget(error_);
    buildChips();
    layout->addLayout(chipRow_);
    buildCompleter();
}

void FilterBar::buildLine() {
    line_ = new SearchField(
        tr("Search names, or filter: metrics.loss < 0.5 AND state = 'finished'"), this);
    line_->setAccessibleName(tr("Filter of runs"));
    line_->installEventFilter(this);
    connect(line_, &QLineEdit::textChanged, this,
            [this](const QString& text) { Q_EMIT textChanged(text); });
    // Only what the user types completes and leaves the history; setText() does neither.
    connect(line_, &QLineEdit::textEdited, this, [this] {
        historyPlace_ = -1;
        complete(false);
    });
    connect(line_, &QLineEdit::returnPressed, this, [this] { remember(); });
    connect(line_, &SearchField::leftDown, this, [this] { Q_EMIT leftToRows(); });
}

void FilterBar::buildChips() {
    chipRow_ = boxIn<QHBoxLayout>(nullptr, kSpaceTiny);
    addChip(tr("queued"), {RunState::kQueued});
    addChip(tr("running"), {RunState::kStarting, RunState::kRunning, RunState::kStopping});
    addChip(tr("finished"), {RunState::kFinished});
    addChip(tr("failed"), {RunState::kFailed});
    addChip(tr("cancelled"), {RunState::kCancelled});
    deleted_ = new QToolButton(this);
    deleted_->setText(tr("Deleted"));
    deleted_->setIcon(icon(Glyph::kTrash));
    deleted_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    deleted_->setCheckable(true);
    deleted_->setToolTip(tr("Deleted runs; those that were not purged can be restored"));
    connect(deleted_, &QToolButton::toggled, this,
            [this](bool isOn) { Q_EMIT deletedChanged(isOn); });
    chipRow_->addWidget(deleted_);
    chipRow_->addStretch(1);
    matches_ = styled<QLabel>("dim", this);
    chipRow_->addWidget(matches_);
}

void FilterBar::addChip(const QString& word, std::set<RunState> states) {
    auto* button = new QToolButton(this);
    button->setText(word);
    button->setCheckable(true);
    button->setToolTip(tr("Only %1 runs; several together show all of them").arg(word));
    connect(button, &QToolButton::toggled, this, [this] { Q_EMIT statesChanged(); });
    chipRow_->addWidget(button);
    chips_.push_back({button, word, std::move(states)});
}

QString FilterBar::text() const {
    return line_->text();
}

void FilterBar::setText(const QString& text) {
    line_->setText(text);
}

std::set<RunState> FilterBar::states() const {
    std::set<RunState> states;
    for (const Chip& chip : chips_) {
        if (chip.button->isChecked()) {
            states.insert(chip.states.begin(), chip.states.end());
        }
    }
    return states;
}

bool FilterBar::isDeletedShown() const {
    return deleted_->isChecked();
}

void FilterBar::setDeletedShown(bool isShown) {
    deleted_->setChecked(isShown);
}

void FilterBar::clearAll() {
    for (const Chip& chip : chips_) {
        chip.button->setChecked(false);
    }
    line_->clear();
}

void FilterBar::focusLine() {
    line_->setFocus(Qt::ShortcutFocusReason);
    line_->selectAll();
}

void FilterBar::setCounts(const std::map<RunState, int>& counts) {
    for (const Chip& chip : chips_) {
        int count = 0;
        for (const RunState state : chip.states) {
            const auto found = counts.find(state);
            count += found == counts.end() ? 0 : found->second;
        }
        const QString text = chip.word + "  " + countText(count);
        if (chip.button->text() != text) {
            chip.button->setText(text);
        }
        // A checked chip stays, so that it can be unchecked.
        chip.button->setVisible(count > 0 || chip.button->isChecked());
    }
}

void FilterBar::setMatches(int numMatching, int numRuns) {
    matches_->setText(numMatching == numRuns
                          ? (numRuns == 1 ? tr("%1 run") : tr("%1 runs")).arg(countText(numRuns))
                          : tr("%1 of %2 runs").arg(countText(numMatching), countText(numRuns)));
}

void FilterBar::setError(const QString& sentence, int column) {
    QString text = sentence;
    if (column > 0 && column <= this->text().size() + 1) {
        const QString place = this->text().mid(column - 1, 16);
        text = place.isEmpty()
                   ? tr("%1 (at the end)").arg(sentence)
                   : tr("%1 (character %2, at “%3”)").arg(sentence).arg(column).arg(place);
    }
    error_->setMessage(Tone::kWarn, text);
}

void FilterBar::clearError() {
    error_->clearMessage();
}

QString FilterBar::error() const {
    return error_->sentence();
}

void FilterBar::buildCompleter() {
    completer_ = new QCompleter(&candidates_, this);
    completer_->setWidget(line_);
    // completeFilter() has filtered already, by the place in the expression.
    completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    completer_->setMaxVisibleItems(10);
    connect(completer_, qOverload<const QString&>(&QCompleter::activated), this,
            [this](const QString& candidate) { insertCompletion(candidate); });
}

void FilterBar::complete(bool isAsked) {
    Q_EMIT namesNeeded();
    completion_ = completeFilter(text(), line_->cursorPosition(), names_);
    const QString typed = text().mid(completion_.start, completion_.length);
    // In a search for plain words a list would cover the results: it opens from three letters on,
    // if a name begins with them.
    const bool isLikely = isFilterExpression(text()) ||
                          (typed.size() >= 3 && !completion_.candidates.isEmpty() &&
                           completion_.candidates.front().startsWith(typed, Qt::CaseInsensitive));
    if (completion_.candidates.isEmpty() || !(isAsked || (isLikely && completion_.length > 0))) {
        completer_->popup()->hide();
        return;
    }
    candidates_.setStringList(completion_.candidates.mid(0, 200));
    QRect place = line_->rect();
    place.setWidth(std::min(360, line_->width()));
    completer_->complete(place);
}

void FilterBar::insertCompletion(const QString& candidate) {
    QString text = this->text();
    const bool isDone = candidate.endsWith(' ') || candidate.endsWith('(');
    text.replace(completion_.start, completion_.length, candidate + (isDone ? "" : " "));
    const int cursor = completion_.start + static_cast<int>(candidate.size()) + (isDone ? 0 : 1);
    line_->setText(text);
    line_->setCursorPosition(cursor);
}

void FilterBar::remember() {
    const QString text = this->text().trimmed();
    if (!text.isEmpty()) {
        history_.removeAll(text);
        history_.prepend(text);
        history_ = history_.mid(0, kMostRemembered);
    }
}

void FilterBar::recall(int step) {
    // -1 is the text that was being typed; 0 is the newest filter.
    if (historyPlace_ < 0) {
        draft_ = text();
    }
    historyPlace_ = std::clamp(historyPlace_ + step, -1, static_cast<int>(history_.size()) - 1);
    line_->setText(historyPlace_ < 0 ? draft_ : history_[historyPlace_]);
}

bool FilterBar::takeKey(int key, Qt::KeyboardModifiers modifiers) {
    if (key == Qt::Key_Escape) {
        if (text().isEmpty()) {
            Q_EMIT leftToRows();
        } else {
            line_->clear();
        }
        return true;
    }
    if (key == Qt::Key_Space && modifiers == Qt::ControlModifier) {
        complete(true);
        return true;
    }
    if ((key == Qt::Key_Up || key == Qt::Key_Down) && modifiers == Qt::AltModifier) {
        recall(key == Qt::Key_Up ? 1 : -1);
        return true;
    }
    return false;
}

bool FilterBar::eventFilter(QObject* watched, QEvent* event) {
    // Before the field takes the key.
    if (watched == line_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        return takeKey(key->key(), key->modifiers());
    }
    return QWidget::eventFilter(watched, event);
}

void FilterBar::save(QSettings& settings) const {
    settings.setValue("filter", text());
    settings.setValue("filterHistory", history_);
}

void FilterBar::restore(QSettings& settings) {
    history_ = settings.value("filterHistory").toStringList().mid(0, kMostRemembered);
    line_->setText(settings.value("filter").toString());
}

}  // namespace millrace::gui
