#include <QActionGroup>
#include <QDateTime>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/curve_extremes.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/charts/plot_state.h"

namespace millrace::gui {
namespace {

constexpr double kNear = 6;                     // distance in pixels within which a curve is hit
constexpr double kDragStart = 4;                // pixels until a press becomes a drag
constexpr double kZoomStep = 0.8;               // per key press or wheel notch
constexpr double kPanStep = 0.1;                // of the view
constexpr std::size_t kCsvPointsMax = 200'000;  // per curve; beyond, the extremes

bool isPlotKey(int key, Qt::KeyboardModifiers modifiers) {
    if ((modifiers & ~(Qt::ShiftModifier | Qt::KeypadModifier)) != 0) {
        return modifiers == Qt::ControlModifier && (key == Qt::Key_Left || key == Qt::Key_Right);
    }
    switch (key) {
        case Qt::Key_Left:
        case Qt::Key_Right:
        case Qt::Key_Plus:
        case Qt::Key_Equal:
        case Qt::Key_Minus:
        case Qt::Key_Home:
        case Qt::Key_F:
        case Qt::Key_L:
        case Qt::Key_Escape:
            return true;
        default:
            return false;
    }
}

QString csvCell(QString text) {
    if (text.contains(QLatin1Char(',')) || text.contains(QLatin1Char('"')) ||
        text.contains(QLatin1Char('\n'))) {
        text = QLatin1Char('"') + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")) +
               QLatin1Char('"');
    }
    return text;
}

QString isoTime(double ms) {
    return std::isnan(ms) ? QString()
                          : QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(ms), Qt::UTC)
                                .toString(Qt::ISODateWithMs);
}

}  // namespace

// The curve under the mouse has values within three pixels of it: in its envelope there, because a
// dense curve has thousands of points, or at the nearest point of a sparse one.
QString PlotWidget::State::curveAt(const QPointF& position) const {
    QString nearest;
    double least = kNear;
    const double before = scale.pixelToX(position.x() - 1.5),
                 after = scale.pixelToX(position.x() + 1.5);
    for (const Curve& curve : curves()) {
        if (!isVisible(curve)) {
            continue;
        }
        const double offset = axisOffset(curve, link->xAxis());
        CurveRange range = curve.store->valueRange(axis(), before + offset, after + offset);
        if (range.isEmpty()) {
            const auto point = curve.store->nearest(axis(), scale.pixelToX(position.x()) + offset);
            const double place = !point                       ? kNoValue
                                 : axis() == CurveAxis::kX    ? point->x
                                 : axis() == CurveAxis::kRows ? point->rows
                                                              : point->timeMs;
            if (!point || std::abs(scale.xToPixel(place - offset) - position.x()) > 2 * kNear) {
                continue;
            }
            range = {point->y, point->y};
        }
        const double top = scale.yToPixel(range.high), bottom = scale.yToPixel(range.low);
        const double distance = std::max({top - position.y(), position.y() - bottom, 0.0});
        if (distance < least) {
            least = distance;
            nearest = curve.id;
        }
    }
    return nearest;
}

std::optional<QString> PlotWidget::State::legendAt(const QPointF& position) const {
    if (!legendRect.contains(position)) {
        return std::nullopt;
    }
    return legend.idAt(position - legendRect.topLeft());
}

void PlotWidget::State::clickLegend(PlotWidget& widget, const QString& id, bool isAlone) {
    if (!isAlone) {
        widget.setCurveHidden(id, !hidden.contains(id));
        return;
    }
    const std::vector<Curve> all = curves();
    const bool isAlreadyAlone = std::ranges::all_of(
        all, [&](const Curve& curve) { return (curve.id == id) == isVisible(curve); });
    for (const Curve& curve : all) {
        widget.setCurveHidden(curve.id, !isAlreadyAlone && curve.id != id);
    }
}

// Moves from one logged point of the first visible curve to the next, for keyboard users.
void PlotWidget::State::stepCrosshair(int direction) {
    const auto curve = std::ranges::find_if(
        curves(), [this](const Curve& c) { return isVisible(c) && c.store->has(axis()); });
    if (curve == curves().end()) {
        return;
    }
    const CurveStore& store = *curve->store;
    const double offset = axisOffset(*curve, link->xAxis());
    const double at = link->crosshair().value_or((scale.x.low + scale.x.high) / 2) + offset;
    std::size_t i = store.lowerBound(axis(), at);
    if (direction < 0) {
        i = i > 0 ? i - 1 : 0;
    } else {
        while (i + 1 < store.size() && store.place(i, axis()) <= at) {
            ++i;
        }
    }
    link->setCrosshair(store.place(std::min(i, store.size() - 1), axis()) - offset);
    isSteered = true;
}

bool PlotWidget::State::handleKey(PlotWidget& widget, int key, Qt::KeyboardModifiers modifiers) {
    if (!isPlotKey(key, modifiers)) {
        return false;
    }
    const CurveRange view = link->view();
    const double width = view.high - view.low;
    const double middle = link->crosshair().value_or((view.low + view.high) / 2);
    const bool isStep = modifiers == Qt::ControlModifier;
    const auto look = [&](const CurveRange& range) {
        link->setView(keptNear(range, link->extent()));
    };
    switch (key) {
        case Qt::Key_Left:
            isStep ? stepCrosshair(-1) : look(panned(view, -kPanStep * width));
            break;
        case Qt::Key_Right:
            isStep ? stepCrosshair(1) : look(panned(view, kPanStep * width));
            break;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            look(zoomed(view, kZoomStep, middle));
            break;
        case Qt::Key_Minus:
            look(zoomed(view, 1 / kZoomStep, middle));
            break;
        case Qt::Key_Home:
            link->fit();
            break;
        case Qt::Key_F:
            link->follow();
            break;
        case Qt::Key_L:
            widget.setLogY(!isLogY);
            break;
        default:
            if (!link->selection() && !link->crosshair()) {
                return false;
            }
            link->setSelection(std::nullopt);
            link->setCrosshair(std::nullopt);
    }
    return true;
}

bool PlotWidget::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::User:
            s_->isSyncPosted = false;
            // While hidden, reports only its extent to the linked charts; a later paint does the
            // rest.
            if (!visibleRegion().isEmpty() && s_->isSyncNeeded) {
                update(s_->sync(*this));
            } else if (s_->isLeading) {
                link()->reportExtent(this, s_->extent());
            }
            return true;
        case QEvent::ShortcutOverride: {
            // The focused chart takes precedence over the window's one-letter shortcuts.
            const auto* key = static_cast<QKeyEvent*>(event);
            if (isPlotKey(key->key(), key->modifiers()) && key->key() != Qt::Key_Escape) {
                event->accept();
                return true;
            }
            break;
        }
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            const QString text = s_->legend.toolTipAt(help->pos() - s_->legendRect.topLeft());
            QToolTip::showText(help->globalPos(), text, this);
            return true;
        }
        default:
            break;
    }
    return Chart::event(event);
}

void PlotWidget::resizeEvent(QResizeEvent* event) {
    s_->isLayoutStale = s_->isSyncNeeded = true;
    Chart::resizeEvent(event);
}

void PlotWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange) {
        s_->isLayoutStale = s_->isFrameStale = s_->isSyncNeeded = true;
        update();
    }
    Chart::changeEvent(event);
}

void PlotWidget::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) {
        Chart::mousePressEvent(event);
        return;
    }
    const std::optional<QString> entry = s_->legendAt(event->position());
    if (entry) {
        if (!entry->isEmpty()) {
            s_->clickLegend(*this, *entry, event->modifiers() == Qt::ControlModifier);
        }
        return;
    }
    if (!s_->scale.area.contains(event->position()) || !s_->hasPoints()) {
        return;
    }
    s_->pressed = event->position();
    s_->pressedView = link()->view();
    s_->drag =
        (event->modifiers() & Qt::ShiftModifier) != 0 ? State::Drag::kSelect : State::Drag::kPan;
    if (s_->drag == State::Drag::kSelect) {
        link()->setSelection(std::nullopt);
    }
}

void PlotWidget::mouseMoveEvent(QMouseEvent* event) {
    const QPointF at = event->position();
    if (s_->drag == State::Drag::kNone) {
        const std::optional<QString> entry = s_->legendAt(at);
        const bool isOverPlot = s_->scale.area.contains(at) && s_->hasPoints();
        setHighlighted(entry ? *entry : isOverPlot ? s_->curveAt(at) : QString());
        setCursor(entry && !entry->isEmpty() ? Qt::PointingHandCursor
                  : isOverPlot               ? Qt::CrossCursor
                                             : Qt::ArrowCursor);
        s_->hover = isOverPlot ? std::optional<QPointF>(at) : std::nullopt;
        link()->setCrosshair(isOverPlot ? std::optional<double>(s_->scale.pixelToX(at.x()))
                                        : std::nullopt);
        update();
        return;
    }
    const double moved = at.x() - s_->pressed.x();
    if (s_->drag == State::Drag::kSelect) {
        const double a = s_->scale.pixelToX(
            std::clamp(s_->pressed.x(), s_->scale.area.left(), s_->scale.area.right()));
        const double b =
            s_->scale.pixelToX(std::clamp(at.x(), s_->scale.area.left(), s_->scale.area.right()));
        link()->setSelection(CurveRange{std::min(a, b), std::max(a, b)});
    } else if (std::abs(moved) >= kDragStart || !isLive()) {
        setCursor(Qt::ClosedHandCursor);
        const double width = s_->pressedView.high - s_->pressedView.low;
        const double distance = -moved * width / s_->scale.area.width();
        link()->setView(keptNear(panned(s_->pressedView, distance), link()->extent()));
    }
}

void PlotWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) {
        Chart::mouseReleaseEvent(event);
        return;
    }
    if (s_->drag == State::Drag::kSelect && link()->selection()) {
        const CurveRange range = *link()->selection();
        Q_EMIT rangeSelected(range.low, range.high);
    }
    s_->drag = State::Drag::kNone;
    setCursor(Qt::CrossCursor);
}

void PlotWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && s_->scale.area.contains(event->position())) {
        s_->drag = State::Drag::kNone;
        link()->fit();
    }
}

void PlotWidget::wheelEvent(QWheelEvent* event) {
    if (!s_->scale.area.contains(event->position()) || !s_->hasPoints()) {
        event->ignore();
        return;
    }
    const CurveRange view = link()->view();
    const QPoint turned = event->angleDelta();
    const bool isPan = (event->modifiers() & Qt::ShiftModifier) != 0 ||
                       std::abs(turned.x()) > std::abs(turned.y());
    const double notches = (turned.x() + turned.y()) / 120.0;
    CurveRange next;
    if (isPan) {
        const double step = turned.x() != 0 ? -turned.x() / 120.0 : -notches;
        next = panned(view, step * kPanStep * (view.high - view.low));
    } else {
        next =
            zoomed(view, std::pow(kZoomStep, notches), s_->scale.pixelToX(event->position().x()));
    }
    link()->setView(keptNear(next, link()->extent()));
    event->accept();
}

void PlotWidget::keyPressEvent(QKeyEvent* event) {
    if (!s_->handleKey(*this, event->key(), event->modifiers())) {
        Chart::keyPressEvent(event);
    }
}

void PlotWidget::leaveEvent(QEvent* event) {
    s_->hover.reset();
    setHighlighted({});
    link()->setCrosshair(std::nullopt);
    Chart::leaveEvent(event);
}

void PlotWidget::focusInEvent(QFocusEvent* event) {
    update();
    Chart::focusInEvent(event);
}

void PlotWidget::focusOutEvent(QFocusEvent* event) {
    update();
    Chart::focusOutEvent(event);
}

void PlotWidget::addMenuEntries(QMenu& menu) {
    menu.addAction(tr("Follow the newest data\tF"), this, [this] { follow(); })
        ->setEnabled(!isLive());
    menu.addAction(tr("Show everything\tHome"), this, [this] { fit(); });
    QAction* log =
        menu.addAction(tr("Logarithmic scale\tL"), this, [this](bool isOn) { setLogY(isOn); });
    log->setCheckable(true);
    log->setChecked(isLogY());
    QMenu* axes = menu.addMenu(tr("X axis"));
    auto* group = new QActionGroup(axes);
    const std::pair<XAxis, QString> kAxes[] = {{XAxis::kStep, tr("Step")},
                                               {XAxis::kRows, tr("Rows")},
                                               {XAxis::kRelativeTime, tr("Time since the start")},
                                               {XAxis::kWallTime, tr("Time of day")}};
    for (const auto& [axis, name] : kAxes) {
        const XAxis chosen = axis;
        QAction* action = axes->addAction(name, this, [this, chosen] { setXAxis(chosen); });
        action->setCheckable(true);
        action->setChecked(axis == xAxis());
        group->addAction(action);
    }
    menu.addSeparator();
}

QString PlotWidget::visibleCsv() const {
    QString csv = QStringLiteral("curve,step,rows,time,value\n");
    const CurveAxis axis = s_->axis();
    for (const Curve& curve : s_->curves()) {
        if (!s_->isVisible(curve)) {
            continue;
        }
        const double offset = axisOffset(curve, xAxis());
        const CurveRange view = link()->view();
        for (const std::size_t i : extremeIndices(*curve.store, axis, view.low + offset,
                                                  view.high + offset, kCsvPointsMax / 2)) {
            const CurvePoint point = curve.store->at(i);
            csv += csvCell(curve.name) + QLatin1Char(',') + exactText(point.x) + QLatin1Char(',') +
                   exactText(point.rows) + QLatin1Char(',') + isoTime(point.timeMs) +
                   QLatin1Char(',') + exactText(point.y) + QLatin1Char('\n');
        }
    }
    return csv;
}

}  // namespace millrace::gui
