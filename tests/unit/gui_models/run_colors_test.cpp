#include "app/gui/models/run_colors.h"

#include <QSettings>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace millrace::gui {
namespace {

using Shown = RunColors::Shown;

std::vector<Shown> named(int from, int count, const std::string& base = "") {
    std::vector<Shown> runs;
    for (int i = from; i < from + count; ++i) {
        runs.push_back({"r-" + std::to_string(i), base});
    }
    return runs;
}

std::set<std::pair<QRgb, int>> looksOf(const RunColors& colors, const std::vector<Shown>& runs) {
    std::set<std::pair<QRgb, int>> looks;
    for (const Shown& run : runs) {
        const RunColors::Look look = colors.of(run.id);
        looks.emplace(look.color.rgb(), look.dash);
    }
    return looks;
}

double luminance(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
    return std::max(x, y) / std::min(x, y);
}

TEST(RunColors, ABaseAndEightVariationsHaveNineColours) {
    RunColors colors;
    std::vector<Shown> runs = named(1, 8, "r-0");
    runs.insert(runs.begin(), {"r-0", ""});
    colors.assign("compare", runs);
    std::set<QRgb> different;
    for (const Shown& run : runs) {
        EXPECT_EQ(colors.of(run.id).dash, 0) << run.id;
        different.insert(colors.of(run.id).color.rgb());
    }
    EXPECT_EQ(different.size(), 9U);
    const QColor base = colors.of("r-0").color;
    EXPECT_EQ(base.saturation(), 0) << "the base is grey";
}

TEST(RunColors, MoreRunsThanColoursDifferByADash) {
    RunColors colors;
    const std::vector<Shown> runs = named(0, RunColors::kNumLooks);
    colors.assign("compare", runs);
    EXPECT_EQ(looksOf(colors, runs).size(), runs.size());
    for (const Shown& run : runs) {
        EXPECT_EQ(colors.of(run.id).dash % 2, 0) << "the odd ones are for a second curve";
    }
}

TEST(RunColors, RunsThatMetBeforeDifferWhenTheyAreShownTogether) {
    RunColors colors;
    // Shown one after the other, each run gets the look of its id.
    std::vector<Shown> runs = named(0, 12);
    for (const Shown& run : runs) {
        colors.assign("runs", {run});
    }
    ASSERT_LT(looksOf(colors, runs).size(), runs.size()) << "some of them wish the same";
    EXPECT_TRUE(colors.assign("runs", runs));
    EXPECT_EQ(looksOf(colors, runs).size(), runs.size());
}

TEST(RunColors, ALookStaysWhileTheRunIsShownAndOnOtherPagesTheSame) {
    std::mt19937 random(20261128);
    RunColors colors;
    std::map<std::string, std::vector<Shown>> pages;
    for (int round = 0; round < 300; ++round) {
        const std::string page = random() % 2 == 0 ? "watch charts" : "runs";
        std::vector<Shown>& shown = pages[page];
        std::map<std::string, RunColors::Look> before;
        for (const Shown& run : shown) {
            before[run.id] = colors.of(run.id);
        }
        if (!shown.empty() && random() % 3 == 0) {
            shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(random() % shown.size()));
        }
        const Shown added{"r-" + std::to_string(random() % 60), ""};
        const bool isThere = before.contains(added.id);
        if (!isThere && shown.size() < 12) {
            shown.insert(shown.begin() + static_cast<std::ptrdiff_t>(
                                             shown.empty() ? 0 : random() % shown.size()),
                         added);
        }
        colors.assign(page, shown);
        for (const Shown& run : shown) {
            if (before.contains(run.id)) {
                EXPECT_EQ(colors.of(run.id), before[run.id]) << round << ": " << run.id;
            }
        }
        for (const auto& [name, runs] : pages) {
            EXPECT_EQ(looksOf(colors, runs).size(), runs.size()) << round << ": " << name;
        }
    }
}

TEST(RunColors, ADashOfACrowdIsGivenUpWhereNobodySeesIt) {
    RunColors colors;
    const std::vector<Shown> crowd = named(0, 12);
    colors.assign("runs", crowd);
    const auto dashed =
        std::ranges::find_if(crowd, [&](const Shown& run) { return colors.of(run.id).dash > 0; });
    ASSERT_NE(dashed, crowd.end());
    const RunColors::Look before = colors.of(dashed->id);
    colors.assign("runs", {*dashed});
    EXPECT_EQ(colors.of(dashed->id), before) << "it was shown all the time";
    colors.assign("other", {*dashed});
    EXPECT_EQ(colors.of(dashed->id), before) << "it is shown elsewhere";
    colors.assign("runs", {});
    colors.assign("other", {});
    colors.assign("runs", {*dashed});
    EXPECT_EQ(colors.of(dashed->id).dash, 0);
}

TEST(RunColors, ARunThatBecomesABaseTurnsGrey) {
    RunColors colors;
    EXPECT_FALSE(colors.assign("watch", {{"r-0", ""}, {"r-9", ""}}));
    const RunColors::Look other = colors.of("r-9");
    EXPECT_TRUE(colors.assign("watch", {{"r-0", ""}, {"r-9", ""}, {"r-1", "r-0"}}));
    EXPECT_EQ(colors.of("r-0").color.saturation(), 0);
    EXPECT_EQ(colors.of("r-9"), other);
}

TEST(RunColors, LooksAreRememberedFromStartToStart) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("console.ini"), QSettings::IniFormat);
    RunColors colors, again;
    std::vector<Shown> runs = named(1, 11, "r-0");
    runs.push_back({"r-0", ""});
    colors.assign("runs", runs);
    colors.save(settings);
    again.restore(settings);
    again.assign("runs", runs);
    for (const Shown& run : runs) {
        EXPECT_EQ(again.of(run.id), colors.of(run.id)) << run.id;
    }
}

TEST(RunColors, EveryColourIsReadableOnBothThemes) {
    const QColor light(0xff, 0xff, 0xff), dark(0x1b, 0x1f, 0x26);
    std::vector<QColor> all = RunColors::palette();
    RunColors colors;
    colors.assign("x", {{"r-0", ""}, {"r-1", "r-0"}});
    all.push_back(colors.of("r-0").color);
    for (const QColor& color : all) {
        EXPECT_GE(contrast(color, light), 2.2) << color.name().toStdString();
        EXPECT_GE(contrast(color, dark), 2.6) << color.name().toStdString();
    }
}

}  // namespace
}  // namespace millrace::gui
