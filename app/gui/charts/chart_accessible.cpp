#include "app/gui/charts/chart_accessible.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include "app/gui/charts/chart.h"

namespace millrace::gui {
namespace {

class ChartAccessible : public QAccessibleWidget {
 public:
    explicit ChartAccessible(Chart* chart) : QAccessibleWidget(chart, QAccessible::Chart) {}

    QString text(QAccessible::Text kind) const override {
        const auto* chart = qobject_cast<const Chart*>(object());
        const QString given = QAccessibleWidget::text(kind);
        if (chart == nullptr || !given.isEmpty()) {
            return given;
        }
        if (kind == QAccessible::Name) {
            return chart->title();
        }
        return kind == QAccessible::Description ? chart->summary() : QString();
    }
};

QAccessibleInterface* makeInterface(const QString&, QObject* object) {
    auto* chart = qobject_cast<Chart*>(object);
    return chart != nullptr ? new ChartAccessible(chart) : nullptr;
}

}  // namespace

void installChartAccessibility() {
    QAccessible::installFactory(&makeInterface);
}

}  // namespace millrace::gui
