#include "app/gui/widgets/theme.h"

#include <QApplication>
#include <QSignalSpy>
#include <set>

#include <gtest/gtest.h>

#include "app/gui/widgets/badge.h"

namespace millrace::gui {
namespace {

class ThemeContrast : public testing::TestWithParam<bool> {
 protected:
    const ThemeColors& c = GetParam() ? darkColors() : lightColors();
    void expectReadable(const char* what, const QColor& text, std::initializer_list<QColor> grounds,
                        double least = 4.5) {
        for (const QColor& ground : grounds) {
            EXPECT_GE(contrastRatio(text, ground), least)
                << what << ' ' << text.name().toStdString() << " on "
                << ground.name().toStdString();
        }
    }
};

TEST_P(ThemeContrast, EveryTextCanBeReadOnEveryGroundItMayStandOn) {
    const auto all = {c.window, c.surface, c.raised, c.sunken};
    expectReadable("text", c.text, all);
    expectReadable("text on selection", c.text, {c.selection});
    expectReadable("dim", c.dim, all);
    expectReadable("dim on selection", c.dim, {c.selection});
    expectReadable("faint", c.faint, {c.window, c.surface, c.sunken});
    expectReadable("accent", c.accent, all);
    expectReadable("onAccent", c.onAccent, {c.accent});
    for (const QColor& tone : {c.good, c.warn, c.bad, c.info}) {
        expectReadable("tone", tone, all);
    }
}

TEST_P(ThemeContrast, PillsCanBeRead) {
    const QPalette palette = paletteOf(c);
    for (const Tone tone : {Tone::kNeutral, Tone::kGood, Tone::kWarn, Tone::kBad, Tone::kInfo}) {
        expectReadable("pill", toneColor(tone, palette), {toneBack(tone, palette)});
        expectReadable("text on a quiet ground", c.text, {toneBack(tone, palette)});
    }
}

TEST_P(ThemeContrast, BordersOfControlsAndFocusRingsCanBeSeen) {
    expectReadable("strong border", c.strongBorder, {c.window, c.surface}, 3);
    expectReadable("focus ring", c.accent, {c.window, c.surface, c.raised, c.sunken}, 3);
}

TEST_P(ThemeContrast, ThePaletteSaysWhichThemeItIs) {
    EXPECT_EQ(colorsOf(paletteOf(c)).isDark, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Themes, ThemeContrast, testing::Bool(),
                         [](const auto& info) { return info.param ? "dark" : "light"; });

TEST(Theme, ContrastIsAsWcagDefinesIt) {
    EXPECT_NEAR(contrastRatio(Qt::black, Qt::white), 21, 0.01);
    EXPECT_NEAR(contrastRatio(QColor("#777777"), Qt::white), 4.48, 0.01);
    EXPECT_NEAR(contrastRatio(Qt::red, Qt::red), 1, 0.001);
}

TEST(Theme, IsSwitchedByChoiceAndByToggling) {
    ThemeControl theme(*qApp);
    QSignalSpy changed(&theme, &ThemeControl::changed);
    theme.choose(ThemeChoice::kDark);
    EXPECT_TRUE(theme.isDark());
    EXPECT_TRUE(colorsOf(QApplication::palette()).isDark);
    theme.toggle();
    EXPECT_EQ(theme.choice(), ThemeChoice::kLight);
    EXPECT_FALSE(colorsOf(QApplication::palette()).isDark);
    EXPECT_EQ(changed.count(), 2);
}

TEST(Theme, NamesAreReadBack) {
    for (const ThemeChoice choice :
         {ThemeChoice::kSystem, ThemeChoice::kDark, ThemeChoice::kLight}) {
        EXPECT_EQ(parseTheme(nameOf(choice)), choice);
    }
    EXPECT_FALSE(parseTheme("pink").has_value());
}

TEST(Badge, EveryStateHasAMarkOfItsOwnShape) {
    using client::RunState;
    std::set<std::pair<int, int>> looks;
    for (const RunState state :
         {RunState::kQueued, RunState::kStarting, RunState::kRunning, RunState::kStopping,
          RunState::kFinished, RunState::kFailed, RunState::kCancelled}) {
        const BadgeLook look = badgeOf(state);
        EXPECT_NE(look.mark, Mark::kNone);
        EXPECT_TRUE(looks.insert({static_cast<int>(look.mark), static_cast<int>(look.tone)}).second)
            << look.text.toStdString();
    }
}

}  // namespace
}  // namespace millrace::gui
