#pragma once
// SheetPreview: what a variation would keep and cost, as cells of the sheet, from request to
// result.
//
// Figures are the daemon's estimates (Inspect.Preview); "≈" precedes one that is not exact.
// Threads: any.
#include <QString>
#include <cstdint>

#include "backend/values/inspection.h"

namespace millrace::gui {

struct SheetPreview {
    enum class State : std::uint8_t { kNone, kWaiting, kCounting, kKnown, kFailed };
    State state = State::kNone;
    values::PreviewReply figures;  ///< if known
    QString why;                   ///< if failed: one sentence
};

enum class PreviewFigure : std::uint8_t { kKept, kPositives, kEpoch };

/// "80.7 k (80 %)", "≈ 42.1 k (52 %)", "0.4 s", "counting…"; a failure is shown in the first one.
QString previewText(const SheetPreview& preview, PreviewFigure figure);
/// The full figure, with the interval and the splits that it is estimated from.
QString previewTip(const SheetPreview& preview, PreviewFigure figure);

}  // namespace millrace::gui
