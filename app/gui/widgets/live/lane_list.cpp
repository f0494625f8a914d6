// User input of the lanes; lane_list_paint.cpp draws them.
#include "app/gui/widgets/live/lane_list.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "app/gui/charts/parts/value_text.h"
#include "app/gui/models/run_text.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

LaneList::LaneList(const LaneModel& model, const RunColors& colors, QWidget* parent)
    : QAbstractScrollArea(parent), model_(model), colors_(colors), layout_(model) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Runs"));
    viewport()->setMouseTracking(true);
    connect(&model, &LaneModel::modelReset, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsInserted, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsRemoved, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsMoved, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last) {
                rowsChanged(first.row(), last.row());
            });
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this,
            [this](int value) { layout_.setView(viewport()->size(), value); });
    arrange();
}

// Updates heights and scrolling, after a change of the list, the font or the size.
void LaneList::arrange() {
    const bool isNew = layout_.arrange(font());  // true if heights have changed
    const int room = viewport()->height() - layout_.headerHeight() - layout_.footHeight();
    verticalScrollBar()->setRange(0, std::max(0, layout_.height() - room));
    verticalScrollBar()->setPageStep(std::max(1, room));
    verticalScrollBar()->setSingleStep(layout_.rowHeight());
    layout_.setView(viewport()->size(), verticalScrollBar()->value());
    if (isNew) {
        updateGeometry();
        viewport()->update();
        Q_EMIT heightChanged();
    }
}

void LaneList::setOpen(int row, bool isOpen) {
    const LaneState& lane = model_.lane(row);
    if (LaneLayout::hasRanks(lane)) {
        layout_.setOpen(lane, isOpen);
        arrange();
    }
}

void LaneList::setLink(ChartLink* link) {
    if (link_ != nullptr) {
        link_->disconnect(viewport());
    }
    link_ = link;
    if (link != nullptr) {
        for (const auto signal :
             {&ChartLink::viewChanged, &ChartLink::crosshairChanged, &ChartLink::axisChanged}) {
            connect(link, signal, viewport(), qOverload<>(&QWidget::update));
        }
    }
    viewport()->update();
}

void LaneList::setNow(std::int64_t nowMs) {
    nowMs_ = nowMs;
    const int strip = layout_.columns().strip;
    viewport()->update(QRect(strip, 0, viewport()->width() - strip, viewport()->height()));
}

void LaneList::setAway(bool isAway) {
    if (isAway != isAway_) {
        isAway_ = isAway;
        viewport()->update();
    }
}

void LaneList::modelChanged() {
    for (auto entry = lanes_.begin(); entry != lanes_.end();) {
        const std::string id = entry.key().section('#', 0, 0).toStdString();  // without its rank
        entry = model_.rowOf(id) < 0 ? lanes_.erase(entry) : std::next(entry);
    }
    arrange();
    viewport()->update();
}

void LaneList::rowsChanged(int first, int last) {
    arrange();
    for (int row = first; row <= last; ++row) {
        viewport()->update(layout_.wholeRect(row));
    }
}

void LaneList::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    arrange();
}

void LaneList::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        arrange();
    }
}

QSize LaneList::sizeHint() const {
    const int rows = std::clamp(layout_.height(), rowHeight(), 5 * rowHeight());
    return {900, layout_.headerHeight() + layout_.footHeight() + rows};
}

QSize LaneList::minimumSizeHint() const {
    return {420, layout_.headerHeight() + layout_.footHeight() + rowHeight()};
}

void LaneList::select(const std::vector<std::string>& ids, const std::string& current) {
    if (ids == selected_ && current == current_) {
        return;
    }
    selected_ = ids;
    current_ = anchor_ = current;  // Shift selects from the anchor
    if (const int row = model_.rowOf(current); row >= 0) {
        const int top = layout_.topOf(row), bar = verticalScrollBar()->value();
        const int room =
            viewport()->height() - layout_.headerHeight() - layout_.footHeight() - rowHeight();
        verticalScrollBar()->setValue(std::clamp(bar, std::max(0, top - std::max(0, room)), top));
    }
    viewport()->update();
    announce();
}

void LaneList::announce() {
    QStringList names;
    for (const std::string& id : selected_) {
        if (const LaneState* lane = model_.find(id)) {
            names << lane->label();
        }
    }
    setAccessibleDescription(names.isEmpty() ? tr("no run selected")
                                             : tr("selected: %1").arg(names.join(", ")));
    Q_EMIT selectionChanged();
}

void LaneList::choose(int row, Qt::KeyboardModifiers modifiers) {
    if (row < 0 || row >= model_.numLanes()) {
        return;
    }
    const std::string id = model_.lane(row).run.id;
    if (modifiers.testFlag(Qt::ControlModifier)) {
        toggle(row);
        return;
    }
    const int from = model_.rowOf(anchor_);
    if (modifiers.testFlag(Qt::ShiftModifier) && from >= 0) {
        std::vector<std::string> range;
        for (int i = std::min(from, row); i <= std::max(from, row); ++i) {
            range.push_back(model_.lane(i).run.id);
        }
        const std::string anchor = anchor_;  // select() would move it
        select(range, id);
        anchor_ = anchor;
        return;
    }
    select({id}, id);
}

void LaneList::toggle(int row) {
    const std::string id = model_.lane(row).run.id;
    std::vector<std::string> ids;
    for (int i = 0; i < model_.numLanes(); ++i) {
        const std::string& other = model_.lane(i).run.id;
        const bool was = std::ranges::find(selected_, other) != selected_.end();
        if (was != (other == id)) {  // flips `id` only, in the order of the rows
            ids.push_back(other);
        }
    }
    select(ids, id);
}

void LaneList::pressButton(int row) {
    const LaneState& lane = model_.lane(row);
    if (lane.isEnded()) {
        if (lane.run.state != values::RunState::kFinished) {
            Q_EMIT resumeAsked(lane.run.id);
        }
    } else if (lane.run.state != values::RunState::kStopping) {
        Q_EMIT stopAsked(lane.run.id);
    }
}

void LaneList::mousePressEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    const int row = layout_.rowAt(at);
    if (event->button() != Qt::LeftButton || row < 0) {
        return;
    }
    if (layout_.buttonRect(row).contains(at)) {
        pressButton(row);
    } else if (layout_.foldRect(row).contains(at)) {
        setOpen(row, !layout_.isOpen(model_.lane(row)));
    } else {
        choose(row, event->modifiers());
    }
}

void LaneList::mouseDoubleClickEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    const int row = layout_.rowAt(at);
    const bool isButton =
        row >= 0 && (layout_.buttonRect(row).contains(at) || layout_.foldRect(row).contains(at));
    if (row >= 0 && !isButton) {
        Q_EMIT runActivated(model_.lane(row).run.id);
    }
}

void LaneList::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    const int row = layout_.rowAt(at);
    if (row != hovered_) {
        hovered_ = row;
        viewport()->update();
    }
    const std::optional<double> time = timeAt(at);
    if (link_ != nullptr && link_->xAxis() == XAxis::kWallTime && link_->crosshair() != time) {
        link_->setCrosshair(time);
    }
}

void LaneList::contextMenuEvent(QContextMenuEvent* event) {
    const int row = layout_.rowAt(viewport()->mapFromGlobal(event->globalPos()));
    if (row < 0) {
        return;
    }
    const std::string id = model_.lane(row).run.id;
    const LaneState& lane = model_.lane(row);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Show in Runs"), this, [this, id] { Q_EMIT runActivated(id); });
    if (!lane.isEnded() && lane.run.state != values::RunState::kStopping) {
        menu->addAction(tr("Stop…"), this, [this, id] { Q_EMIT stopAsked(id); });
    }
    if (lane.isEnded() && lane.run.state != values::RunState::kFinished) {
        menu->addAction(tr("Resume"), this, [this, id] { Q_EMIT resumeAsked(id); });
    }
    if (LaneLayout::hasRanks(lane)) {
        const bool isOpen = layout_.isOpen(lane);
        menu->addAction(isOpen ? tr("Hide its ranks") : tr("Show its ranks"), this,
                        [this, id, isOpen] {
                            if (const int at = model_.rowOf(id); at >= 0) {  // rows may have moved
                                setOpen(at, !isOpen);
                            }
                        });
    }
    menu->popup(event->globalPos());
}

void LaneList::keyPressEvent(QKeyEvent* event) {
    const int row = model_.rowOf(current_);
    const int last = model_.numLanes() - 1;
    switch (event->key()) {
        case Qt::Key_Up:
            choose(row < 0 ? last : std::max(0, row - 1), event->modifiers());
            return;
        case Qt::Key_Down:
            choose(std::min(last, row + 1), event->modifiers());
            return;
        case Qt::Key_Right:
        case Qt::Key_Left:
            if (row >= 0) {
                setOpen(row, event->key() == Qt::Key_Right);
            }
            return;
        case Qt::Key_Home:
            choose(0, event->modifiers());
            return;
        case Qt::Key_End:
            choose(last, event->modifiers());
            return;
        case Qt::Key_Space:
            if (row >= 0) {
                toggle(row);
            }
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (row >= 0) {
                Q_EMIT runActivated(current_);
            }
            return;
        default:
            break;
    }
    if (event->matches(QKeySequence::SelectAll) && last >= 0) {
        std::vector<std::string> ids;
        for (int i = 0; i <= last; ++i) {
            ids.push_back(model_.lane(i).run.id);
        }
        select(ids, row >= 0 ? current_ : ids.front());
        return;
    }
    event->ignore();
}

bool LaneList::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), textAt(help->pos()), viewport());
        return true;
    }
    if (event->type() == QEvent::Leave) {
        hovered_ = -1;
        if (link_ != nullptr && link_->xAxis() == XAxis::kWallTime) {
            link_->setCrosshair(std::nullopt);
        }
        viewport()->update();
    }
    return QAbstractScrollArea::viewportEvent(event);
}

std::optional<double> LaneList::timeAt(const QPoint& position) const {
    const int row = layout_.rowAt(position);
    if (row < 0) {
        return std::nullopt;
    }
    const QRect strip = stripRect(row);
    if (position.x() < strip.left() || position.x() > strip.right()) {
        return std::nullopt;
    }
    const CurveRange time = visibleTime();
    return time.low +
           (time.high - time.low) * (position.x() - strip.left()) / std::max(1, strip.width());
}

QString LaneList::textAt(const QPoint& position) const {
    const int row = layout_.rowAt(position);
    if (row < 0) {
        return {};
    }
    const LaneState& lane = model_.lane(row);
    if (layout_.foldRect(row).contains(position)) {
        return ranksText(lane.ranks);
    }
    const std::optional<double> time = timeAt(position);
    const std::optional<int> place = layout_.rankAt(row, position);
    const RankLane* rank = place ? &lane.ranks[static_cast<std::size_t>(*place)] : nullptr;
    if (rank != nullptr && !time) {
        return rank->sentence(nowMs_);
    }
    if (!time) {
        return lane.sentence(nowMs_).isEmpty()
                   ? lane.label()
                   : lane.label() + QLatin1Char('\n') + lane.sentence(nowMs_);
    }
    QString what = tr("nothing known");
    const auto tell = [&](LanePhase phase, double from, double to) {
        what = tr("%1 for %2, from %3")
                   .arg(lanePhaseName(phase), durationText(to - from), wallTimeText(from));
    };
    const LaneTracker& tracker = rank != nullptr ? rank->tracker : lane.tracker;
    for (const PhaseSpan& span : tracker.spans()) {
        if (span.fromMs <= *time && *time < span.toMs) {
            tell(span.phase, span.fromMs, span.toMs);
        }
    }
    if (const auto open = tracker.open(); open && *time >= open->fromMs) {
        tell(open->phase, open->fromMs, std::max(open->fromMs, static_cast<double>(nowMs_)));
    }
    return (rank != nullptr ? rank->title() : lane.label()) + QLatin1Char('\n') + what;
}

}  // namespace millrace::gui
