#pragma once
// SpecAnalysis: a spec's text with its tree, meanings and coloured tokens by line, for the editor.
//
// Threads: an immutable value.
#include <cstddef>
#include <span>
#include <vector>

#include "app/gui/models/spec/spec_meaning.h"
#include "app/gui/models/spec/spec_tokens.h"

namespace millrace::gui {

class SpecAnalysis {
 public:
    explicit SpecAnalysis(const QString& text = {});

    const QString& text() const { return syntax_.text(); }
    const SpecSyntax& syntax() const { return syntax_; }
    const std::vector<Meaning>& meanings() const { return meanings_; }

    int numLines() const { return static_cast<int>(lines_.size()); }
    /// Positions are within the line, from 0; no token spans lines.
    std::span<const SpecToken> tokensOf(int line) const;
    /// Changes exactly when a token on a later line changed: how far a change must be repainted.
    int stateBehind(int line) const;

 private:
    struct Line {
        std::size_t firstToken = 0;
        std::size_t hashBehind = 0;
    };
    void splitTokens(const std::vector<SpecToken>& tokens);
    void hashLines();

    SpecSyntax syntax_;
    std::vector<Meaning> meanings_;
    std::vector<SpecToken> tokens_;
    std::vector<Line> lines_;
};

}  // namespace millrace::gui
