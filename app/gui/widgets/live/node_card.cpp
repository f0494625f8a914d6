#include "app/gui/widgets/live/node_card.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QStringList>
#include <QToolTip>

#include "app/gui/widgets/live/node_painter.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kCardPad = kSpaceMedium;
constexpr int kWidthHint = 320;
constexpr int kWidthMin = 240;

}  // namespace

NodeCard::NodeCard(const NodeModel& model, std::string node, QWidget* parent)
    : QWidget(parent), model_(&model), node_(std::move(node)) {
    setFocusPolicy(Qt::TabFocus);
    setAccessibleName(tr("Node %1").arg(QString::fromStdString(node_)));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void NodeCard::setOpen(bool isOpen) {
    if (isOpen != isOpen_) {
        isOpen_ = isOpen;
        updateGeometry();
        update();
        Q_EMIT toggled(isOpen);
    }
}

int NodeCard::rowHeight() const {
    return NodePainter::rowHeight(font());
}

int NodeCard::numCoreRows(const NodeState& node) const {
    const std::size_t cores = node.sample ? node.sample->corePercent.size() : 0;
    return NodePainter::coreHeight(cores, width() - 2 * kCardPad);
}

QSize NodeCard::sizeHint() const {
    const NodeState* node = state();
    if (!isOpen_ || node == nullptr) {
        const int line = QFontMetrics(headingFont(font())).height();
        return {kWidthHint, line + NodePainter::rowHeight(captionFont(font())) + kCardPad + 2};
    }
    const int gpuHeight = rowHeight() + QFontMetrics(captionFont(font())).height() + 10;
    const int gpus =
        node->gpus.empty() ? rowHeight() : static_cast<int>(node->gpus.size()) * gpuHeight;
    return {kWidthHint, NodePainter::headHeight(font()) + 7 * rowHeight() + numCoreRows(*node) +
                            gpus + NodePainter::workersHeight(node->workers().size(), font()) +
                            2 * kCardPad};
}

QSize NodeCard::minimumSizeHint() const {
    return {kWidthMin, sizeHint().height()};
}

QString NodeCard::summary() const {
    const NodeState* node = state();
    if (node == nullptr) {
        return {};
    }
    const values::NodeSample sample = node->sample.value_or(values::NodeSample{});
    QStringList parts{node->name()};
    if (const QString state = node->stateText(); !state.isEmpty()) {
        parts << state;
    }
    if (const auto stale = node->staleSeconds(model_->nowMs())) {
        parts << tr("stale %1 s").arg(*stale);
    }
    parts << factsText(node->info) << tr("CPU %1").arg(percentText(sample.cpuPercent))
          << tr("memory %1").arg(amountText(sample.memoryUsedBytes))
          << tr("network in %1, out %2")
                 .arg(rateText(sample.networkReceiveBytesPerSecond),
                      rateText(sample.networkSendBytesPerSecond))
          << tr("disk read %1, write %2, free %3")
                 .arg(rateText(sample.diskReadBytesPerSecond),
                      rateText(sample.diskWriteBytesPerSecond), amountText(sample.diskFreeBytes));
    if (node->gpus.empty()) {
        parts << node->gpuSentence();
    }
    for (const NodeState::Gpu& gpu : node->gpus) {
        parts
            << tr("GPU %1 %2").arg(gpu.info.index).arg(percentText(gpu.sample.utilizationPercent));
    }
    for (const values::ProcessSample& worker : node->workers()) {
        parts << tr("%1 of %2: CPU %3, memory %4")
                     .arg(QString::fromStdString(worker.worker),
                          QString::fromStdString(worker.runId), percentText(worker.cpuPercent),
                          amountText(worker.memoryBytes));
    }
    return parts.join(QStringLiteral("\n"));
}

void NodeCard::paintEvent(QPaintEvent*) {
    const NodeState* node = state();
    if (node == nullptr) {
        return;
    }
    const ThemeColors& colors = colorsOf(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(hasFocus() ? colors.accent : colors.border, hasFocus() ? 1.5 : 1));
    painter.setBrush(colors.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.75, 0.75, -0.75, -0.75), kCornerRadius,
                            kCornerRadius);
    const auto stale = node->staleSeconds(model_->nowMs());
    const int top = isOpen_ ? kCardPad : kCardPad / 2;
    NodePainter parts(painter, rect().adjusted(kCardPad, top, -kCardPad, -top), palette(), font());
    if (!isOpen_) {
        parts.paintCollapsed(*node, stale);
        return;
    }
    parts.paintHead(*node, stale, true);
    painter.setOpacity(stale ? kOldOpacity : 1);
    parts.paintBody(*node, model_->nowMs());
}

void NodeCard::mousePressEvent(QMouseEvent* event) {
    const int head = kCardPad + NodePainter::headHeight(font());
    if (event->button() == Qt::LeftButton && (!isOpen_ || event->position().y() < head)) {
        setOpen(!isOpen_);
    }
}

void NodeCard::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return ||
        event->key() == Qt::Key_Enter) {
        setOpen(!isOpen_);
    } else {
        QWidget::keyPressEvent(event);
    }
}

void NodeCard::focusInEvent(QFocusEvent* event) {
    setAccessibleDescription(summary());
    QWidget::focusInEvent(event);
    update();
}

void NodeCard::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

bool NodeCard::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), summary(), this);
        return true;
    }
    return QWidget::event(event);
}

}  // namespace millrace::gui
