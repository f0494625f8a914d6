#include "app/gui/models/sheet/sheet_preview.h"

#include <QObject>
#include <QStringList>
#include <cmath>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

using values::Estimate;
using values::PreviewHead;

QString about(const Estimate& estimate) {
    return estimate.isExact ? QString() : QStringLiteral("\u2248 ");
}

/// "52 %", "0.31 %": two digits even for a rare label.
QString shareText(double share) {
    const double percent = 100 * share;
    const int decimals = percent == 0 || percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : 2;
    return QString::number(percent, 'f', decimals) + QStringLiteral(" %");
}

QString rowsAndShare(const Estimate& rows, const Estimate& share) {
    return about(rows) + shortCountText(std::round(rows.value)) + QStringLiteral(" (") +
           shareText(share.value) + u')';
}

/// "95 %: 80,100 to 81,300".
QString intervalText(const Estimate& estimate) {
    if (estimate.isExact) {
        return QObject::tr("every split was read");
    }
    return estimate.low && estimate.high ? QObject::tr("95 %: %1 to %2")
                                               .arg(countText(std::round(*estimate.low)),
                                                    countText(std::round(*estimate.high)))
                                         : QObject::tr("how sure is not known from one split");
}

QString splitsText(const values::PreviewReply& figures) {
    return QObject::tr("from %1 of %2 splits")
        .arg(countText(static_cast<double>(figures.splitsSampled)),
             countText(static_cast<double>(figures.splits)));
}

QString headTip(const PreviewHead& head) {
    return QObject::tr("%1: %2 positives of %3 rows with a label (%4); %5")
        .arg(qtext(head.name), countText(std::round(head.positives.value)),
             countText(std::round(head.labelled.value)), shareText(head.positiveShare.value),
             intervalText(head.positives));
}

QString knownText(const values::PreviewReply& figures, PreviewFigure figure) {
    if (figure == PreviewFigure::kKept) {
        return rowsAndShare(figures.rowsKept, figures.keepShare);
    }
    if (figure == PreviewFigure::kEpoch) {
        return durationText(1e3 * figures.epochSeconds.value);
    }
    QStringList heads;
    for (const PreviewHead& head : figures.heads) {
        const QString text = rowsAndShare(head.positives, head.positiveShare);
        heads << (figures.heads.size() == 1 ? text : qtext(head.name) + u' ' + text);
    }
    return heads.join(QStringLiteral(", "));
}

QString knownTip(const values::PreviewReply& figures, PreviewFigure figure) {
    if (figure == PreviewFigure::kKept) {
        return QObject::tr("Keeps %1 of %2 rows an epoch; %3, %4")
            .arg(countText(std::round(figures.rowsKept.value)),
                 countText(static_cast<double>(figures.rows)), intervalText(figures.rowsKept),
                 splitsText(figures));
    }
    if (figure == PreviewFigure::kEpoch) {
        return QObject::tr(
                   "The loader's time for an epoch with %1 threads, where the model is never "
                   "waited for; %2")
            .arg(countText(static_cast<double>(figures.threads)), splitsText(figures));
    }
    QStringList heads;
    for (const PreviewHead& head : figures.heads) {
        heads << headTip(head);
    }
    return heads.join(u'\n');
}

}  // namespace

QString previewText(const SheetPreview& preview, PreviewFigure figure) {
    switch (preview.state) {
        case SheetPreview::State::kWaiting:
            return QObject::tr("waiting\u2026");
        case SheetPreview::State::kCounting:
            return QObject::tr("counting\u2026");
        case SheetPreview::State::kKnown:
            return knownText(preview.figures, figure);
        case SheetPreview::State::kFailed:
            return figure == PreviewFigure::kKept ? preview.why : QString();
        case SheetPreview::State::kNone:
            break;
    }
    return {};
}

QString previewTip(const SheetPreview& preview, PreviewFigure figure) {
    switch (preview.state) {
        case SheetPreview::State::kWaiting:
            return QObject::tr("Counted after the variations before it, one at a time");
        case SheetPreview::State::kCounting:
            return QObject::tr("Some splits run through the recipe, at the daemon");
        case SheetPreview::State::kKnown:
            return knownTip(preview.figures, figure);
        case SheetPreview::State::kFailed:
            return preview.why;
        case SheetPreview::State::kNone:
            break;
    }
    return QObject::tr("Not counted yet");
}

}  // namespace millrace::gui
