#include "app/gui/widgets/yaml/yaml_highlighter.h"

#include <QTextDocument>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

using Kind = SpecToken::Kind;
constexpr int kNumKinds = static_cast<int>(Kind::kLiteral) + 1;

struct TwoColors {
    QRgb dark, light;
};

TwoColors colorsFor(Kind kind) {
    switch (kind) {
        case Kind::kKey:
            return {0xff7cb7ff, 0xff0b5cad};
        case Kind::kName:
        case Kind::kColumn:
            return {0xff9fdcc4, 0xff00664a};
        case Kind::kChange:
            return {0xffe2b8f2, 0xff8a2a86};
        case Kind::kVariation:
            return {0xfff2a8cf, 0xffa02c6d};
        case Kind::kNumber:
        case Kind::kWord:
        case Kind::kLiteral:
            return {0xfff0b36a, 0xff9a4b00};
        case Kind::kFunction:
            return {0xffe5d27a, 0xff7a5b00};
        case Kind::kOperator:
            return {0xffd59cf5, 0xff7a35b5};
        default:
            return {0xffc9d7a5, 0xff4a6300};
    }
}

}  // namespace

QColor tokenColor(SpecToken::Kind kind, const ThemeColors& colors) {
    switch (kind) {
        case Kind::kComment:
            return colors.faint;
        case Kind::kMark:
            return colors.dim;
        case Kind::kUnknownKey:
            return colors.bad;
        default: {
            const TwoColors both = colorsFor(kind);
            return QColor(colors.isDark ? both.dark : both.light);
        }
    }
}

QString textOf(const QTextDocument& document) {
    QString text = document.toRawText();
    for (QChar& c : text) {
        if (c == QChar::ParagraphSeparator || c == QChar::LineSeparator) {
            c = u'\n';
        }
    }
    return text;
}

YamlHighlighter::YamlHighlighter(QTextDocument* document)
    : QSyntaxHighlighter(static_cast<QObject*>(document)) {
    formats_.resize(static_cast<std::size_t>(kNumKinds));
    // Before setDocument, so that the old analysis is dropped before the base class paints the
    // change.
    connect(document, &QTextDocument::contentsChange, this, [this] { analysis_.reset(); });
    setDocument(document);
}

// The base class removes its colours from the document in its destructor, which is one more change.
YamlHighlighter::~YamlHighlighter() {
    if (document() != nullptr) {
        disconnect(document(), nullptr, this, nullptr);
    }
}

void YamlHighlighter::setColors(const ThemeColors& colors) {
    for (int i = 0; i < kNumKinds; ++i) {
        const Kind kind = static_cast<Kind>(i);
        QTextCharFormat& format = formats_[static_cast<std::size_t>(i)];
        format = {};
        format.setForeground(tokenColor(kind, colors));
        format.setFontItalic(kind == Kind::kComment);
    }
    rehighlight();
}

const SpecAnalysis& YamlHighlighter::analysis() const {
    if (analysis_ == nullptr) {
        const bool isTooLong = document()->characterCount() > kSpecTextMax;
        analysis_ = std::make_unique<SpecAnalysis>(isTooLong ? QString() : textOf(*document()));
    }
    return *analysis_;
}

void YamlHighlighter::highlightBlock(const QString& text) {
    const SpecAnalysis& known = analysis();
    const int line = currentBlock().blockNumber();
    for (const SpecToken& token : known.tokensOf(line)) {
        const int end = std::min(token.end, static_cast<int>(text.size()));
        if (end > token.begin) {
            setFormat(token.begin, end - token.begin,
                      formats_[static_cast<std::size_t>(token.kind)]);
        }
    }
    setCurrentBlockState(known.stateBehind(line));
}

}  // namespace millrace::gui
