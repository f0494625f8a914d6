#include "app/gui/widgets/icons.h"

#include <QGuiApplication>
#include <QIconEngine>
#include <QPainterPath>
#include <QPalette>
#include <QPixmap>
#include <QToolButton>
#include <algorithm>
#include <iterator>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

// A drawing in a 16 x 16 grid: "M x y" moves, "L x y" draws a line, "C x1 y1 x2 y2 x y" a curve,
// "Z" closes, "O cx cy r" is a circle, "R x y w h r" a rectangle with round corners. Lines are 1.4
// wide with round ends; `filled` ones are areas.
struct Drawing {
    const char* path;
    bool isFilled = false;
};

// In the order of Glyph.
constexpr Drawing kDrawings[] = {
    {"M1.5 9 L4 9 L6 3 L9.5 13 L11.5 7.5 L12.3 9 L14.5 9"},                 // kWatch
    {"R1.5 2.5 13 11 1.5 M1.5 6 L14.5 6 M1.5 9.7 L14.5 9.7 M6 6 L6 13.5"},  // kRuns
    {"M4 2.5 L13.5 8 L4 13.5 Z"},                                           // kLaunch
    {"M2.5 4 C2.5 1.7 13.5 1.7 13.5 4 C13.5 6.3 2.5 6.3 2.5 4 Z M2.5 4 L2.5 12 "
     "C2.5 14.3 13.5 14.3 13.5 12 L13.5 4 M2.5 8 C2.5 10.3 13.5 10.3 13.5 8"},  // kData
    {"O7 7 4.5 M10.4 10.4 L14 14"},                                             // kSearch
    {"M4 4 L12 12 M12 4 L4 12"},                                                // kClose
    {"M8 3 L8 13 M3 8 L13 8"},                                                  // kPlus
    {"M6 3.5 L10.5 8 L6 12.5"},                                                 // kChevronRight
    {"M3.5 6 L8 10.5 L12.5 6"},                                                 // kChevronDown
    {"M3.5 10 L8 5.5 L12.5 10"},                                                // kChevronUp
    {"R3.5 3.5 9 9 1.2"},                                                       // kStop
    {"M5 3 L12.5 8 L5 13 Z", true},                                             // kPlay
    {"M5.5 3.5 L5.5 12.5 M10.5 3.5 L10.5 12.5"},                                // kPause
    {"M13 8 C13 11 10.8 13 8 13 C5.2 13 3 10.8 3 8 C3 5.2 5.2 3 8 3 C9.8 3 11.4 3.9 "
     "12.4 5.4 M12.8 2.4 L12.6 5.6 L9.4 5.4"},                                // kRefresh
    {"R5.5 5.5 8 8.5 1.3 M3.5 10.5 L2.5 10.5 L2.5 2.5 L10.5 2.5 L10.5 3.3"},  // kCopy
    {"M2.5 4.5 L13.5 4.5 M6 4.5 L6 2.5 L10 2.5 L10 4.5 M4 4.5 L4.7 13.5 L11.3 13.5 "
     "L12 4.5 M6.7 7 L6.9 11 M9.3 7 L9.1 11"},                        // kTrash
    {"M2 3.5 L14 3.5 L9.5 8.5 L9.5 13 L6.5 11.5 L6.5 8.5 Z"},         // kFilter
    {"R2 2.5 12 11 1.3 M6 2.5 L6 13.5 M10 2.5 L10 13.5"},             // kColumns
    {"M8 2.2 L14.6 13.5 L1.4 13.5 Z M8 6.4 L8 9.6 M8 11.6 L8 11.7"},  // kWarning
    {"O8 8 6 M8 7.4 L8 11 M8 5 L8 5.1"},                              // kInfo
    {"M3 8.5 L6.5 12 L13 4.5"},                                       // kTick
    {"R1.5 3.8 13 8.4 1.4 M4 6.5 L4.1 6.5 M6.6 6.5 L6.7 6.5 M9.3 6.5 L9.4 6.5 M12 6.5 "
     "L12.1 6.5 M5 9.6 L11 9.6"},                                         // kKeyboard
    {"O8 8 5.6 M8 2.4 L8 13.6 M9.8 3.2 L9.8 12.8 M11.6 4.4 L11.6 11.6"},  // kTheme
};
static_assert(std::size(kDrawings) == static_cast<std::size_t>(Glyph::kTheme) + 1);

class PathReader {
 public:
    explicit PathReader(const char* text) : words_(split(text)) {}
    QPainterPath read() {
        QPainterPath path;
        while (at_ < words_.size()) {
            const QString word = words_[at_];
            const QChar command = word.at(0);
            words_[at_] = word.mid(1);
            if (words_[at_].isEmpty()) {
                ++at_;
            }
            add(command, path);
        }
        return path;
    }

 private:
    static QStringList split(const char* text) {
        return QString::fromLatin1(text).split(QLatin1Char(' '), Qt::SkipEmptyParts);
    }
    double number() { return words_[at_++].toDouble(); }
    QPointF point() {
        const double x = number();
        return {x, number()};
    }
    void add(QChar command, QPainterPath& path) {
        if (command == QLatin1Char('M')) {
            path.moveTo(point());
        } else if (command == QLatin1Char('L')) {
            path.lineTo(point());
        } else if (command == QLatin1Char('C')) {
            const QPointF one = point(), two = point();
            path.cubicTo(one, two, point());
        } else if (command == QLatin1Char('O')) {
            const QPointF centre = point();
            const double radius = number();
            path.addEllipse(centre, radius, radius);
        } else if (command == QLatin1Char('R')) {
            const QPointF corner = point(), size = point();
            const double radius = number();
            path.addRoundedRect(QRectF(corner, QSizeF(size.x(), size.y())), radius, radius);
        } else {
            path.closeSubpath();
        }
    }
    QStringList words_;
    qsizetype at_ = 0;
};

// Paints on demand, so that icons change with the theme and are sharp at every scale.
class PaintedEngine : public QIconEngine {
 public:
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap map(size);
        map.fill(Qt::transparent);
        QPainter painter(&map);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
        return map;
    }

 protected:
    static QRectF squareIn(const QRect& rect) {
        const double side = std::min(rect.width(), rect.height());
        return {rect.left() + (rect.width() - side) / 2, rect.top() + (rect.height() - side) / 2,
                side, side};
    }
};

class GlyphEngine final : public PaintedEngine {
 public:
    explicit GlyphEngine(Glyph glyph) : glyph_(glyph) {}
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode,
               QIcon::State state) override {
        const ThemeColors& colors = colorsOf(QGuiApplication::palette());
        QColor color = state == QIcon::On ? colors.text : colors.dim;
        if (mode == QIcon::Disabled) {
            color = mixed(colors.window, colors.faint, 0.6);
        } else if (mode == QIcon::Active || mode == QIcon::Selected) {
            color = colors.text;
        }
        paintGlyph(*painter, squareIn(rect), glyph_, color);
    }
    QIconEngine* clone() const override { return new GlyphEngine(glyph_); }

 private:
    Glyph glyph_;
};

class ApplicationIconEngine final : public PaintedEngine {
 public:
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode, QIcon::State) override {
        paintApplicationIcon(*painter, squareIn(rect));
    }
    QIconEngine* clone() const override { return new ApplicationIconEngine; }
};

}  // namespace

void paintGlyph(QPainter& painter, const QRectF& square, Glyph glyph, const QColor& color) {
    const Drawing& drawing = kDrawings[static_cast<std::size_t>(glyph)];
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(square.topLeft());
    painter.scale(square.width() / 16, square.height() / 16);
    if (drawing.isFilled) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
    } else {
        painter.setPen(QPen(color, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
    }
    painter.drawPath(PathReader(drawing.path).read());
    painter.restore();
}

QIcon icon(Glyph glyph) {
    return QIcon(new GlyphEngine(glyph));
}

// The same drawing as resources/icons/millrace.svg, in a grid of 64.
void paintApplicationIcon(QPainter& painter, const QRectF& square) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(square.topLeft());
    painter.scale(square.width() / 64, square.height() / 64);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0x0f, 0x2a, 0x3d));
    painter.drawRoundedRect(QRectF(2, 2, 60, 60), 14, 14);
    painter.save();
    painter.translate(32, 27);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(QColor(0xf2, 0xf6, 0xf9), 3.4));
    painter.drawEllipse(QPointF(0, 0), 14.5, 14.5);
    painter.setPen(QPen(QColor(0xf2, 0xf6, 0xf9), 3.4, Qt::SolidLine, Qt::RoundCap));
    for (int paddle = 0; paddle < 8; ++paddle) {
        painter.drawLine(QPointF(0, -4.5), QPointF(0, -19));
        painter.rotate(45);
    }
    painter.restore();
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0xe6, 0x9f, 0x00));
    painter.drawEllipse(QPointF(32, 27), 4.6, 4.6);
    painter.setBrush(Qt::NoBrush);
    for (int wave = 0; wave < 2; ++wave) {
        painter.setPen(QPen(wave == 0 ? QColor(0x56, 0xb4, 0xe9) : QColor(0x2f, 0x7d, 0xb0), 4,
                            Qt::SolidLine, Qt::RoundCap));
        const double y = 47 + 6.5 * wave;
        QPainterPath water(QPointF(10, y));
        water.cubicTo(17, y - 5, 20, y - 5, 26, y);
        water.cubicTo(32, y + 5, 36, y + 5, 42, y);
        water.cubicTo(46, y - 3.5, 49, y - 4, 54, y - 1);
        painter.drawPath(water);
    }
    painter.restore();
}

QIcon applicationIcon() {
    return QIcon(new ApplicationIconEngine);
}

QToolButton* iconButton(Glyph glyph, const QString& toolTip, QWidget* parent) {
    auto* button = styled<QToolButton>("flat", parent);
    button->setIcon(icon(glyph));
    button->setToolTip(toolTip);
    button->setAccessibleName(toolTip);
    return button;
}

}  // namespace millrace::gui
