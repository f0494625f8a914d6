#pragma once
// Fusion with flat boxes: combo boxes, number fields and check boxes in the colours of the theme.
//
// What a style sheet cannot draw without image files. Threads: the GUI thread.
#include <QProxyStyle>

class QStyleOptionComboBox;
class QStyleOptionSpinBox;

namespace millrace::gui {

class ConsoleStyle final : public QProxyStyle {
    Q_OBJECT

 public:
    ConsoleStyle();
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                            QPainter* painter, const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                           const QWidget* widget) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option,
                    const QWidget* widget) const override;

 private:
    void drawComboBox(const QStyleOptionComboBox& option, QPainter& painter,
                      const QWidget* widget) const;
    void drawSpinBox(const QStyleOptionSpinBox& option, QPainter& painter,
                     const QWidget* widget) const;
};

}  // namespace millrace::gui
