#include "app/gui/models/run_text.h"

#include <QDateTime>
#include <QLocale>
#include <cmath>

#include "app/session/figures.h"
#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::gui {
namespace {

QString withMinus(QString text) {
    return text.replace('-', QChar(0x2212));
}

// Replaces keyboard characters by typographic ones: a minus sign and an infinity sign.
QString typeset(const std::string& figure) {
    return withMinus(qtext(figure)).replace(QLatin1String("inf"), QString(QChar(0x221e)));
}

}  // namespace

bool isBidiControl(QChar c) {
    return kBidiControls.find(c.unicode()) != std::u16string_view::npos;
}

QString noneText() {
    return QString(QChar(0x2013));
}

QString qtext(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString asSentence(const std::string& message) {
    const QString text = capital(qtext(message));
    return text.isEmpty() || text.endsWith('.') || text.endsWith('?') ? text : text + '.';
}

QString numberText(double value) {
    return typeset(session::figureText(value));
}

QString differenceText(double difference, double value) {
    return difference == 0 ? QString(QChar(0x00b1)) + '0'
                           : typeset(session::differenceText(difference, value));
}

QString countText(double value) {
    return std::isfinite(value) ? typeset(session::groupedNumber(value, 0)) : numberText(value);
}

QString shortCountText(double value) {
    return typeset(session::shortCount(value));
}

QString percentText(double percent) {
    return qtext(session::percentText(percent));
}

QString bytesText(double bytes) {
    return qtext(formatBytes(bytes));
}

QString durationText(double ms) {
    return qtext(session::durationText(ms));
}

QString timeText(std::int64_t timeMs, std::int64_t nowMs) {
    if (timeMs <= 0) {
        return {};
    }
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(timeMs);
    const QDate today = QDateTime::fromMSecsSinceEpoch(nowMs).date();
    if (time.date() == today) {
        return time.toString("HH:mm:ss");
    }
    return time.date().year() == today.year()
               ? QLocale(QLocale::English).toString(time, "d MMM HH:mm")
               : time.toString("yyyy-MM-dd");
}

QString fullTimeText(std::int64_t timeMs) {
    return timeMs <= 0 ? QString() : qtext(session::localTime(timeMs));
}

QString shortHash(const std::string& hash) {
    return QString::fromStdString(hash.substr(0, 12));
}

QString capital(QString text) {
    if (!text.isEmpty()) {
        text[0] = text[0].toUpper();
    }
    return text;
}

QString labelOf(const session::Word& word) {
    return QString::fromUtf8(word.label);
}

QString titleOf(const session::Word& word) {
    return capital(labelOf(word));
}

}  // namespace millrace::gui
