#pragma once
// Pills: a word on a pale background whose colour rates it. Always with a mark (a dot, a ring, a
// cross ...), so that colour is never the only sign.
//
// Threads: the GUI thread.
#include <QPainter>
#include <QString>
#include <QWidget>

#include "backend/values/run_summary.h"

namespace millrace::gui {

enum class Tone { kNeutral, kGood, kWarn, kBad, kInfo };
/// The mark before the word: nothing, a filled dot, a ring (waiting), a half ring (in between), a
/// tick (done), a cross (failed), a dash (cancelled).
enum class Mark { kNone, kDot, kRing, kHalf, kTick, kCross, kDash };

struct BadgeLook {
    QString text;
    Tone tone = Tone::kNeutral;
    Mark mark = Mark::kNone;
    bool operator==(const BadgeLook&) const = default;
};
/// "running" with a dot, "failed" with a cross, ...
BadgeLook badgeOf(values::RunState state);
/// The badge of its state; "stalled" without progress, a warning if it has any other trouble.
BadgeLook badgeOf(const values::RunSummary& run);

QColor toneColor(Tone tone, const QPalette& palette);
QColor toneBack(Tone tone, const QPalette& palette);
/// For delegates: the size of a pill, and a pill at the left of `rect`, centred vertically and
/// elided to its width.
QSize badgeSize(const BadgeLook& look, const QFont& font);
void paintBadge(QPainter& painter, const QRect& rect, const BadgeLook& look,
                const QPalette& palette);
/// The mark alone, in a square.
void paintMark(QPainter& painter, const QRectF& square, Mark mark, const QColor& color);

class Badge final : public QWidget {
    Q_OBJECT

 public:
    explicit Badge(QWidget* parent = nullptr);
    void setLook(const BadgeLook& look);
    const BadgeLook& look() const { return look_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
    void paintEvent(QPaintEvent* event) override;

 private:
    BadgeLook look_;
};

}  // namespace millrace::gui
