#pragma once
// YamlHighlighter: colours a spec in a text document, by its YAML tree and the key table.
//
// Threads: the GUI thread. Owns: the newest analysis of its document, made on first use after a
// change.
#include <QColor>
#include <QSyntaxHighlighter>
#include <QTextCharFormat>
#include <memory>
#include <vector>

#include "app/gui/models/spec/spec_analysis.h"

namespace millrace::gui {

struct ThemeColors;

/// The colours of tokens on a theme's surface; each has a contrast of 4.5 to it.
QColor tokenColor(SpecToken::Kind kind, const ThemeColors& colors);
/// A document's plain text, without QTextDocument's separators.
QString textOf(const QTextDocument& document);

class YamlHighlighter final : public QSyntaxHighlighter {
    Q_OBJECT

 public:
    explicit YamlHighlighter(QTextDocument* document);
    ~YamlHighlighter() override;

    void setColors(const ThemeColors& colors);
    /// The analysis of the present document.
    const SpecAnalysis& analysis() const;

 protected:
    void highlightBlock(const QString& text) override;

 private:
    mutable std::unique_ptr<SpecAnalysis> analysis_;
    std::vector<QTextCharFormat> formats_;
};

}  // namespace millrace::gui
