// What the user does with the lanes; lane_list_paint.cpp has how they look.
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
    : QAbstractScrollArea(parent), model_(model), colors_(colors) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Jobs"));
    viewport()->setMouseTracking(true);
    connect(&model, &LaneModel::modelReset, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsInserted, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsRemoved, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::rowsMoved, this, &LaneList::modelChanged);
    connect(&model, &LaneModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last) {
                rowsChanged(first.row(), last.row());
            });
}

void LaneList::setLink(ChartLink* link) {
    if (link_ != nullptr) {
        link_->disconnect(this);
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
    const Columns c = columns();
    viewport()->update(QRect(c.strip, 0, viewport()->width() - c.strip, viewport()->height()));
}

void LaneList::modelChanged() {
    for (auto entry = lanes_.begin(); entry != lanes_.end();) {
        entry =
            model_.rowOf(entry.key().toStdString()) < 0 ? lanes_.erase(entry) : std::next(entry);
    }
    updateBars();
    updateGeometry();
    viewport()->update();
}

void LaneList::rowsChanged(int first, int last) {
    for (int row = first; row <= last; ++row) {
        viewport()->update(rowRect(row));
    }
}

void LaneList::updateBars() {
    const int room = viewport()->height() - headerHeight() - footHeight();
    verticalScrollBar()->setRange(0, std::max(0, model_.numLanes() * rowHeight() - room));
    verticalScrollBar()->setPageStep(std::max(1, room));
    verticalScrollBar()->setSingleStep(rowHeight());
}

void LaneList::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    updateBars();
}

void LaneList::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateBars();
        updateGeometry();
    }
}

QSize LaneList::sizeHint() const {
    const int rows = std::clamp(model_.numLanes(), 1, 5);
    return {900, headerHeight() + footHeight() + rows * rowHeight()};
}

QSize LaneList::minimumSizeHint() const {
    return {420, headerHeight() + footHeight() + rowHeight()};
}

void LaneList::select(const std::vector<std::string>& ids, const std::string& current) {
    if (ids == selected_ && current == current_) {
        return;
    }
    selected_ = ids;
    current_ = anchor_ = current;
    if (const int row = model_.rowOf(current); row >= 0) {
        const int top = row * rowHeight(), bar = verticalScrollBar()->value();
        const int room = viewport()->height() - headerHeight() - footHeight() - rowHeight();
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
    setAccessibleDescription(names.isEmpty() ? tr("no job selected")
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
        const std::string anchor = anchor_;
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
        const bool was = std::find(selected_.begin(), selected_.end(), other) != selected_.end();
        if (was != (other == id)) {
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
    const int row = rowAt(at);
    if (event->button() != Qt::LeftButton || row < 0) {
        return;
    }
    if (buttonRect(row).contains(at)) {
        pressButton(row);
    } else {
        choose(row, event->modifiers());
    }
}

void LaneList::mouseDoubleClickEvent(QMouseEvent* event) {
    const int row = rowAt(event->position().toPoint());
    if (row >= 0 && !buttonRect(row).contains(event->position().toPoint())) {
        Q_EMIT runActivated(model_.lane(row).run.id);
    }
}

void LaneList::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    const int row = rowAt(at);
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
    const int row = rowAt(viewport()->mapFromGlobal(event->globalPos()));
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
    const int row = rowAt(position);
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
    const int row = rowAt(position);
    if (row < 0) {
        return {};
    }
    const LaneState& lane = model_.lane(row);
    const std::optional<double> time = timeAt(position);
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
    for (const PhaseSpan& span : lane.tracker.spans()) {
        if (span.fromMs <= *time && *time < span.toMs) {
            tell(span.phase, span.fromMs, span.toMs);
        }
    }
    if (const auto open = lane.tracker.open(); open && *time >= open->fromMs) {
        tell(open->phase, open->fromMs, std::max(open->fromMs, static_cast<double>(nowMs_)));
    }
    return lane.label() + QLatin1Char('\n') + what;
}

}  // namespace millrace::gui
