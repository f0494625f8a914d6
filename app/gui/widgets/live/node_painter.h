#pragma once
// NodePainter: paints a machine's facts into a card, row by row.
//
// Threads: the GUI thread. Owns: nothing; lives for one paint.
#include <QPainter>
#include <QPalette>
#include <QRect>
#include <QString>
#include <optional>
#include <span>

#include "app/gui/charts/parts/sparkline.h"
#include "app/gui/models/live/node_model.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

/// "n/a", for a value that was not reported.
QString unknownText();
QString percentText(const std::optional<double>& value);
QString rateText(const std::optional<double>& bytesPerSecond);
QString amountText(const std::optional<std::uint64_t>& bytes);
/// "32 cores · 256 GB · AMD EPYC 9654", from the known facts.
QString factsText(const values::NodeInfo& info);

class NodePainter {
 public:
    NodePainter(QPainter& painter, const QRect& area, const QPalette& palette, const QFont& font);

    /// Name, a badge (its state, its sample's age, or that it is the head), facts.
    void paintHead(const NodeState& node, std::optional<int> staleSeconds, bool isOpen);
    void paintBody(const NodeState& node, std::int64_t nowMs);
    /// All of it in one line after the name.
    void paintCollapsed(const NodeState& node, std::optional<int> staleSeconds);

    static int rowHeight(const QFont& font);
    static int headHeight(const QFont& font);
    static int coreHeight(std::size_t numCores, int width);
    /// The height that paintBody() needs for `numWorkers`: a row each; if there are many, the
    /// first.
    static int workersHeight(std::size_t numWorkers, const QFont& font);

 private:
    void paintValueRow(const QString& label, const QString& value, std::span<const double> history,
                       const CurveRange& bounds, std::span<const double> second = {});
    int labelRoom() const;
    void paintCores(std::span<const double> cores);
    void paintCpu(const NodeState& node, std::int64_t nowMs);
    void paintTraffic(const NodeState& node, std::int64_t nowMs);
    void paintDiskSpace(const NodeState& node);
    void paintGpu(const NodeState::Gpu& gpu, std::int64_t nowMs);
    void paintWorkers(const NodeState& node);
    void paintWorker(const values::ProcessSample& worker);
    void paintBar(const QRectF& rect, const std::optional<double>& percent, const QColor& color);
    void paintCell(int column, const QString& label, const std::optional<double>& percent);

    QPainter& painter_;
    QRect area_;
    const QPalette& palette_;
    const ThemeColors& colors_;
    QFont font_, small_, bold_;
    int y_;
};

}  // namespace millrace::gui
