#pragma once
// ConsoleStyle: Fusion with flat boxes in the colours of the theme. It reads everything from the
// palette and from lookOf() while drawing, so a switch of the theme only costs a repaint.
//
// console_style.cpp         dispatch to the parts; frames, fields, tool tips, measures
// console_style_buttons.cpp push and tool buttons, check boxes, combo boxes, number fields
// console_style_views.cpp   rows, headers, tabs, progress
// console_style_menus.cpp   menus, and the lists of combo boxes
// console_style_scroll.cpp  scroll bars and splitters
//
// A drawX() that returns false leaves its element to Fusion. Threads: the GUI thread.
#include <QProxyStyle>

class QStyleOptionButton;
class QStyleOptionComboBox;
class QStyleOptionHeader;
class QStyleOptionMenuItem;
class QStyleOptionSlider;
class QStyleOptionSpinBox;
class QStyleOptionTab;
class QStyleOptionToolButton;
class QStyleOptionViewItem;

namespace millrace::gui {

class ConsoleStyle final : public QProxyStyle {
    Q_OBJECT

 public:
    ConsoleStyle();
    void polish(QWidget* widget) override;
    using QProxyStyle::polish;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                            QPainter* painter, const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                           const QWidget* widget) const override;
    QRect subElementRect(SubElement element, const QStyleOption* option,
                         const QWidget* widget) const override;
    QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                         const QWidget* widget) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option,
                    const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* answer) const override;

 private:
    bool drawButtonControl(ControlElement element, const QStyleOption& option, QPainter& painter,
                           const QWidget* widget) const;
    bool drawViewControl(ControlElement element, const QStyleOption& option, QPainter& painter,
                         const QWidget* widget) const;
    bool drawMenuControl(ControlElement element, const QStyleOption& option, QPainter& painter,
                         const QWidget* widget) const;

    void drawPushButton(const QStyleOptionButton& option, QPainter& painter,
                        const QWidget* widget) const;
    void drawToolButton(const QStyleOptionToolButton& option, QPainter& painter,
                        const QWidget* widget) const;
    void drawComboBox(const QStyleOptionComboBox& option, QPainter& painter,
                      const QWidget* widget) const;
    void drawSpinBox(const QStyleOptionSpinBox& option, QPainter& painter,
                     const QWidget* widget) const;
    void drawRow(ControlElement element, const QStyleOptionViewItem& option, QPainter& painter,
                 const QWidget* widget) const;
    void drawHeaderText(const QStyleOptionHeader& option, QPainter& painter,
                        const QWidget* widget) const;
    void drawTabText(const QStyleOptionTab& option, QPainter& painter, const QWidget* widget) const;
    void drawMenuItem(const QStyleOptionMenuItem& option, QPainter& painter,
                      const QWidget* widget) const;
    void drawScrollBar(const QStyleOptionSlider& option, QPainter& painter,
                       const QWidget* widget) const;
};

}  // namespace millrace::gui
