#include "app/gui/widgets/live/node_painter.h"

#include <QFontMetrics>
#include <QObject>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/icons.h"

namespace millrace::gui {
namespace {

constexpr int kSparkShare = 28;  // percent of the width
constexpr int kCoreBarHeight = 14;
constexpr std::size_t kWorkersMax = 8;
constexpr double kHot = 85;  // from here on a temperature is highlighted, °C

const QColor& cpuColor() {
    static const QColor color(0x56, 0xB4, 0xE9);
    return color;
}
const QColor& memoryColor() {
    static const QColor color(0x00, 0x9E, 0x73);
    return color;
}
const QColor& gpuColor() {
    static const QColor color(0xE6, 0x9F, 0x00);
    return color;
}
const QColor& trafficColor() {
    static const QColor color(0x00, 0x72, 0xB2);
    return color;
}

QString number(const std::optional<double>& value, const QString& unit) {
    return value ? QString::number(std::lround(*value)) + QLatin1Char(' ') + unit : unknownText();
}

// "61 of 80 GB": one unit for both.
QString ofText(const std::optional<std::uint64_t>& used,
               const std::optional<std::uint64_t>& total) {
    if (!used) {
        return unknownText();
    }
    if (!total || *total == 0) {
        return amountText(used);
    }
    const QString whole = amountText(total);
    const QString unit = whole.section(QLatin1Char(' '), 1);
    const QString part = amountText(used);
    return part.endsWith(unit) && !unit.isEmpty()
               ? QObject::tr("%1 of %2").arg(part.section(QLatin1Char(' '), 0, 0), whole)
               : QObject::tr("%1 of %2").arg(part, whole);
}

}  // namespace

QString unknownText() {
    return QObject::tr("n/a");
}

QString percentText(const std::optional<double>& value) {
    return value ? percentText(*value) : unknownText();
}

QString rateText(const std::optional<double>& bytesPerSecond) {
    return bytesPerSecond ? QObject::tr("%1/s").arg(bytesText(*bytesPerSecond)) : unknownText();
}

QString amountText(const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytesText(static_cast<double>(*bytes)) : unknownText();
}

QString factsText(const values::NodeInfo& info) {
    QStringList parts;
    if (info.cores > 0) {
        parts << (info.cores == 1 ? QObject::tr("1 core")
                                  : QObject::tr("%1 cores").arg(info.cores));
    }
    if (info.memoryBytes > 0) {
        parts << bytesText(static_cast<double>(info.memoryBytes));
    }
    if (!info.gpus.empty()) {
        const QString name = QString::fromStdString(info.gpus.front().name);
        parts << (info.gpus.size() == 1
                      ? name
                      : QStringLiteral("%1 × %2").arg(info.gpus.size()).arg(name));
    }
    if (!info.cpuModel.empty()) {
        parts << QString::fromStdString(info.cpuModel);
    }
    if (!info.trouble.empty()) {
        parts << QObject::tr("its agent cannot be started: %1")
                     .arg(QString::fromStdString(info.trouble));
    }
    return parts.isEmpty() ? QObject::tr("facts not read yet") : parts.join(QStringLiteral(" · "));
}

NodePainter::NodePainter(QPainter& painter, const QRect& area, const QPalette& palette,
                         const QFont& font)
    : painter_(painter),
      area_(area),
      palette_(palette),
      colors_(colorsOf(palette)),
      font_(font),
      small_(captionFont(font)),
      bold_(headingFont(font)),
      y_(area.top()) {}

int NodePainter::rowHeight(const QFont& font) {
    return QFontMetrics(font).height() + 6;
}

int NodePainter::headHeight(const QFont& font) {
    return QFontMetrics(headingFont(font)).height() + QFontMetrics(captionFont(font)).height() + 8;
}

int NodePainter::coreHeight(std::size_t numCores, int width) {
    if (numCores < 2) {
        return 0;
    }
    const int perRow = std::max(1, width / 4);
    const int rows = (static_cast<int>(numCores) + perRow - 1) / perRow;
    return rows * (kCoreBarHeight + 2) + 4;
}

void NodePainter::paintHead(const NodeState& node, std::optional<int> staleSeconds, bool isOpen) {
    const QFontMetrics metrics(bold_);
    QRect line(area_.left(), y_, area_.width(), metrics.height());
    const QRectF chevron(line.left() - 2, line.center().y() - 6, 12, 12);
    paintGlyph(painter_, chevron, isOpen ? Glyph::kChevronDown : Glyph::kChevronRight,
               colors_.faint);
    line.setLeft(line.left() + 16);
    BadgeLook badge;
    if (const QString state = node.stateText(); !state.isEmpty()) {
        badge = {state, Tone::kWarn, Mark::kRing};
    } else if (staleSeconds) {
        badge = {QObject::tr("stale %1 s").arg(*staleSeconds), Tone::kWarn, Mark::kRing};
    } else if (node.receivedMs == 0) {
        badge = {QObject::tr("no sample yet"), Tone::kNeutral, Mark::kRing};
    } else if (node.info.isHead) {
        badge = {QObject::tr("head"), Tone::kNeutral, Mark::kNone};
    }
    if (!badge.text.isEmpty()) {
        const QSize size = badgeSize(badge, small_);
        painter_.setFont(small_);
        paintBadge(painter_,
                   QRect(line.right() - size.width(), line.top(), size.width() + 1, line.height()),
                   badge, palette_);
        line.setRight(line.right() - size.width() - 6);
    }
    painter_.setFont(bold_);
    painter_.setPen(colors_.text);
    painter_.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                      metrics.elidedText(node.name(), Qt::ElideMiddle, line.width()));
    y_ = line.bottom() + 2;
    const QFontMetrics small(small_);
    painter_.setFont(small_);
    painter_.setPen(colors_.faint);
    painter_.drawText(QRect(area_.left(), y_, area_.width(), small.height()), Qt::AlignVCenter,
                      small.elidedText(factsText(node.info), Qt::ElideRight, area_.width()));
    y_ = area_.top() + headHeight(font_);
}

void NodePainter::paintValueRow(const QString& label, const QString& value,
                                std::span<const double> history, const CurveRange& bounds,
                                std::span<const double> second) {
    const int height = rowHeight(font_);
    const int labelWidth = labelRoom();
    const int valueWidth = area_.width() - labelWidth - area_.width() * kSparkShare / 100;
    painter_.setFont(small_);
    painter_.setPen(colors_.dim);
    painter_.drawText(QRect(area_.left(), y_, labelWidth, height), Qt::AlignVCenter, label);
    const bool isKnown = value != unknownText();
    const int room = history.empty() ? area_.width() - labelWidth : valueWidth - 6;
    const QFontMetrics metrics(font_);
    painter_.setFont(font_);
    painter_.setPen(isKnown ? colors_.text : colors_.faint);
    painter_.drawText(QRect(area_.left() + labelWidth, y_, room, height), Qt::AlignVCenter,
                      metrics.elidedText(value, Qt::ElideRight, room));
    if (!history.empty()) {
        const int left = area_.left() + labelWidth + valueWidth;
        const QRectF rect(left, y_ + 3, area_.right() - left + 1, height - 6);
        SparklineStyle style;
        style.line = trafficColor();
        style.bounds = bounds;
        if (!second.empty()) {
            SparklineStyle other = style;
            other.line = gpuColor();
            other.hasLastDot = false;
            paintSparkline(painter_, rect, second, other);
        } else {
            style.line = bounds.isEmpty() ? trafficColor() : cpuColor();
            style.fill = style.line;
            style.fill.setAlpha(40);
        }
        paintSparkline(painter_, rect, history, style);
    }
    y_ += height;
}

int NodePainter::labelRoom() const {
    return QFontMetrics(small_).horizontalAdvance(QObject::tr("Disk write")) + 10;
}

void NodePainter::paintBar(const QRectF& rect, const std::optional<double>& percent,
                           const QColor& color) {
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(colors_.neutralBack);
    painter_.drawRoundedRect(rect, 2, 2);
    if (percent) {
        QRectF filled = rect;
        filled.setWidth(rect.width() * std::clamp(*percent, 0.0, 100.0) / 100);
        painter_.setBrush(color);
        painter_.drawRoundedRect(filled, 2, 2);
    }
}

// A bar per core, in as many lines as the width requires.
void NodePainter::paintCores(std::span<const double> cores) {
    const int height = coreHeight(cores.size(), area_.width());
    if (height == 0) {
        return;
    }
    const int perRow = std::max(1, area_.width() / 4);
    const int rows = (static_cast<int>(cores.size()) + perRow - 1) / perRow;
    const int inRow = (static_cast<int>(cores.size()) + rows - 1) / rows;
    const double step = std::min(24.0, static_cast<double>(area_.width()) / inRow);
    const double gap = step >= 6 ? 2 : 1;
    painter_.setPen(Qt::NoPen);
    for (std::size_t i = 0; i < cores.size(); ++i) {
        const int row = static_cast<int>(i) / inRow, column = static_cast<int>(i) % inRow;
        const QRectF slot(area_.left() + column * step, y_ + row * (kCoreBarHeight + 2), step - gap,
                          kCoreBarHeight);
        painter_.fillRect(slot, colors_.neutralBack);
        if (std::isfinite(cores[i])) {
            const double part = slot.height() * std::clamp(cores[i], 0.0, 100.0) / 100;
            painter_.fillRect(QRectF(slot.left(), slot.bottom() - part, slot.width(), part),
                              cpuColor());
        }
    }
    y_ += height;
}

void NodePainter::paintCpu(const NodeState& node, std::int64_t nowMs) {
    QString value = percentText(node.sample ? node.sample->cpuPercent : std::nullopt);
    if (node.sample && node.sample->load1) {
        value += QObject::tr("   load %1").arg(*node.sample->load1, 0, 'f', 1);
    }
    paintValueRow(titleOf(session::word::kCpu), value, node.cpu.at(nowMs), {0, 100});
    if (node.sample) {
        paintCores(node.sample->corePercent);
    }
}

void NodePainter::paintTraffic(const NodeState& node, std::int64_t nowMs) {
    const auto row = [&](const QString& label, const QString& value, const MinuteHistory& a,
                         const MinuteHistory& b) {
        paintValueRow(label, value, a.at(nowMs), {}, b.at(nowMs));
    };
    const values::NodeSample sample = node.sample.value_or(values::NodeSample{});
    row(QObject::tr("Net in"), rateText(sample.networkReceiveBytesPerSecond), node.receive, {});
    row(QObject::tr("Net out"), rateText(sample.networkSendBytesPerSecond), node.send, {});
    row(QObject::tr("Disk read"), rateText(sample.diskReadBytesPerSecond), node.read, {});
    row(QObject::tr("Disk write"), rateText(sample.diskWriteBytesPerSecond), node.write, {});
}

void NodePainter::paintDiskSpace(const NodeState& node) {
    const values::NodeSample sample = node.sample.value_or(values::NodeSample{});
    const QString text =
        sample.diskFreeBytes ? ofText(sample.diskFreeBytes, sample.diskTotalBytes) : unknownText();
    paintValueRow(QObject::tr("Disk free"), text, {}, {});
}

void NodePainter::paintBody(const NodeState& node, std::int64_t nowMs) {
    const values::NodeSample sample = node.sample.value_or(values::NodeSample{});
    paintCpu(node, nowMs);
    paintValueRow(
        titleOf(session::word::kMemory),
        ofText(sample.memoryUsedBytes, sample.memoryTotalBytes ? sample.memoryTotalBytes
                                       : node.info.memoryBytes > 0
                                           ? std::optional<std::uint64_t>(node.info.memoryBytes)
                                           : std::nullopt),
        node.memory.at(nowMs), {0, 100});
    paintTraffic(node, nowMs);
    paintDiskSpace(node);
    if (node.gpus.empty()) {
        painter_.setFont(small_);
        painter_.setPen(colors_.dim);
        const QFontMetrics metrics(small_);
        painter_.drawText(QRect(area_.left(), y_, area_.width(), rowHeight(font_)),
                          Qt::AlignVCenter,
                          metrics.elidedText(node.gpuSentence(), Qt::ElideRight, area_.width()));
        y_ += rowHeight(font_);
    }
    for (const NodeState::Gpu& gpu : node.gpus) {
        paintGpu(gpu, nowMs);
    }
    paintWorkers(node);
}

int NodePainter::workersHeight(std::size_t numWorkers, const QFont& font) {
    return numWorkers == 0 ? 0
                           : static_cast<int>(std::min(numWorkers, kWorkersMax)) * rowHeight(font) +
                                 kSpaceSmall;
}

// The runs' processes on this machine, below a line.
void NodePainter::paintWorkers(const NodeState& node) {
    const std::vector<values::ProcessSample> workers = node.workers();
    if (workers.empty()) {
        return;
    }
    painter_.setPen(colors_.border);
    painter_.drawLine(area_.left(), y_ + kSpaceSmall / 2, area_.right(), y_ + kSpaceSmall / 2);
    y_ += kSpaceSmall;
    const bool isAll = workers.size() <= kWorkersMax;
    const std::size_t shown = isAll ? workers.size() : kWorkersMax - 1;
    for (std::size_t i = 0; i < shown; ++i) {
        paintWorker(workers[i]);
    }
    if (!isAll) {
        painter_.setFont(small_);
        painter_.setPen(colors_.dim);
        painter_.drawText(QRect(area_.left(), y_, area_.width(), rowHeight(font_)),
                          Qt::AlignVCenter, QObject::tr("and %1 more").arg(workers.size() - shown));
        y_ += rowHeight(font_);
    }
}

// "data0   r-abc23            97 %   210 MB": CPU in percent of one core.
void NodePainter::paintWorker(const values::ProcessSample& worker) {
    const int height = rowHeight(font_), label = labelRoom();
    const QRect row(area_.left(), y_, area_.width(), height);
    const QFontMetrics small(small_);
    painter_.setFont(small_);
    painter_.setPen(colors_.text);
    painter_.drawText(
        row, Qt::AlignVCenter,
        small.elidedText(QString::fromStdString(worker.worker), Qt::ElideRight, label - 6));
    painter_.setPen(colors_.dim);
    const int figures = small.horizontalAdvance(QStringLiteral("1000 %   999.9 MB"));
    painter_.drawText(row.adjusted(label, 0, -figures, 0), Qt::AlignVCenter,
                      small.elidedText(QString::fromStdString(worker.runId), Qt::ElideRight,
                                       area_.width() - label - figures));
    painter_.drawText(row, Qt::AlignVCenter | Qt::AlignRight, amountText(worker.memoryBytes));
    painter_.setPen(colors_.text);
    const int memory = small.horizontalAdvance(QStringLiteral("   999.9 MB"));
    painter_.drawText(row.adjusted(0, 0, -memory, 0), Qt::AlignVCenter | Qt::AlignRight,
                      percentText(worker.cpuPercent));
    y_ += height;
}

// Two lines: utilisation with its last minute; memory, power and temperature.
void NodePainter::paintGpu(const NodeState::Gpu& gpu, std::int64_t nowMs) {
    const QString label = QObject::tr("GPU %1").arg(gpu.info.index);
    const int left = area_.left() + labelRoom();
    paintValueRow(label, percentText(gpu.sample.utilizationPercent), gpu.utilization.at(nowMs),
                  {0, 100});
    const QFontMetrics metrics(small_);
    const int height = metrics.height() + 6;
    std::optional<std::uint64_t> total = gpu.sample.memoryTotalBytes;
    if (!total && gpu.info.memoryBytes > 0) {
        total = gpu.info.memoryBytes;
    }
    std::optional<double> share;
    if (gpu.sample.memoryUsedBytes && total && *total > 0) {
        share =
            100 * static_cast<double>(*gpu.sample.memoryUsedBytes) / static_cast<double>(*total);
    }
    const QString text = ofText(gpu.sample.memoryUsedBytes, total) + QStringLiteral("  ·  ") +
                         number(gpu.sample.powerWatts, QObject::tr("W")) + QStringLiteral("  ·  ") +
                         number(gpu.sample.temperatureCelsius, QObject::tr("°C"));
    painter_.setFont(small_);
    const bool isHot = gpu.sample.temperatureCelsius.value_or(0) >= kHot;
    painter_.setPen(isHot ? colors_.warn : colors_.dim);
    painter_.drawText(QRect(left, y_ - 3, area_.right() - left, height), Qt::AlignVCenter,
                      metrics.elidedText(text, Qt::ElideRight, area_.right() - left));
    paintBar(QRectF(left, y_ + height - 4, area_.right() - left + 1, 3), share, memoryColor());
    y_ += height + 4;
}

void NodePainter::paintCell(int column, const QString& label,
                            const std::optional<double>& percent) {
    const int width = area_.width() / 3;
    const QRect cell(area_.left() + column * width, y_, width - 8, rowHeight(small_));
    painter_.setFont(small_);
    painter_.setPen(percent ? colors_.dim : colors_.faint);
    painter_.drawText(cell.adjusted(0, 0, 0, -4), Qt::AlignVCenter,
                      label + QLatin1Char(' ') + percentText(percent));
    paintBar(QRectF(cell.left(), cell.bottom() - 3, cell.width(), 3), percent,
             column == 0   ? cpuColor()
             : column == 1 ? memoryColor()
                           : gpuColor());
}

void NodePainter::paintCollapsed(const NodeState& node, std::optional<int> staleSeconds) {
    const int top = area_.top();
    paintHead(node, staleSeconds, false);
    y_ = top + QFontMetrics(bold_).height() + 2;
    painter_.fillRect(QRect(area_.left(), y_, area_.width(), rowHeight(small_)), colors_.surface);
    paintCell(0, titleOf(session::word::kCpu),
              node.sample ? node.sample->cpuPercent : std::nullopt);
    paintCell(1, titleOf(session::word::kMemory), node.memoryPercent());
    if (node.gpus.empty()) {
        painter_.setPen(colors_.faint);
        painter_.drawText(QRect(area_.left() + 2 * (area_.width() / 3), y_, area_.width() / 3,
                                rowHeight(small_) - 4),
                          Qt::AlignVCenter, QObject::tr("no GPU"));
    } else {
        paintCell(2, titleOf(session::word::kGpu), node.gpuPercent());
    }
}

}  // namespace millrace::gui
