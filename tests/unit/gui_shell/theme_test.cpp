#include "app/gui/widgets/theme.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStyleOption>
#include <QTemporaryDir>
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "app/gui/console_app.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/console_style_parts.h"
#include "app/gui/widgets/panels.h"
#include "tests/support/fake_daemon_client.h"

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

// One widget of each kind, on a card.
class Sample {
 public:
    Sample() {
        setLook(*primary_, "primary");
        setLook(*dim_, "dim");
        setLook(*wrong_, "error");
        setLook(*bare_, "bare");
        for (QWidget* one :
             std::initializer_list<QWidget*>{primary_, dim_, wrong_, field_, list_, bare_}) {
            card_.body()->addWidget(one);
        }
        card_.resize(300, 400);
        card_.show();  // palettes reach visible widgets
    }
    QImage picture() {
        QCoreApplication::processEvents();
        return card_.grab().toImage();
    }
    QColor at(const QWidget& widget, QPoint point) {
        return picture().pixelColor(widget.mapTo(&card_, point));
    }
    bool hasColor(const QWidget& widget, const QColor& color) {
        const QImage image = picture().copy(QRect(widget.mapTo(&card_, QPoint()), widget.size()));
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                if (image.pixelColor(x, y) == color) {
                    return true;
                }
            }
        }
        return false;
    }
    void expectColors(const ThemeColors& c) {
        EXPECT_EQ(at(card_, {20, 3}), c.surface);
        EXPECT_EQ(at(card_, {20, 0}), c.border);
        EXPECT_EQ(at(*primary_, {6, 6}), c.accent);
        EXPECT_EQ(at(*field_, {20, 0}), c.border);
        EXPECT_EQ(at(*wrong_, {20, 0}), c.bad);
        EXPECT_EQ(at(*list_, {20, 0}), c.border);
        EXPECT_EQ(at(*bare_, {20, 0}), c.surface);
        EXPECT_TRUE(hasColor(*dim_, c.dim));
        EXPECT_FALSE(hasColor(*dim_, c.text));
    }

 private:
    Card card_{"Sample"};
    QPushButton* primary_ = new QPushButton("Go", &card_);
    QLabel* dim_ = new QLabel("|||| ---- ||||", &card_);
    QLineEdit *wrong_ = new QLineEdit(&card_), *field_ = new QLineEdit(&card_);
    QListWidget *list_ = new QListWidget(&card_), *bare_ = new QListWidget(&card_);
};

TEST(Theme, ASwitchPaintsEverythingInTheOtherColours) {
    ThemeControl theme(*qApp);
    theme.choose(ThemeChoice::kDark);
    Sample sample;
    sample.expectColors(darkColors());
    theme.toggle();
    sample.expectColors(lightColors());
    theme.toggle();
    sample.expectColors(darkColors());
}

TEST(Theme, NoWidgetOfTheConsoleHasAStyleSheet) {
    client::FakeDaemon daemon;
    QTemporaryDir folder;
    QSettings settings(folder.filePath("console.ini"), QSettings::IniFormat);
    ThemeControl theme(*qApp);
    const auto makeClient = [&](const std::string& address) { return daemon.makeClient(address); };
    ConsoleApp app({makeClient, makePage, settings, theme, "unix:/fake.sock",
                    [] { return std::int64_t{1'700'000'000'000}; }},
                   {});
    app.start();
    app.window().makeOtherPages();
    EXPECT_TRUE(qApp->styleSheet().isEmpty());
    const QWidgetList widgets = QApplication::allWidgets();
    EXPECT_GT(widgets.size(), 200);
    for (const QWidget* widget : widgets) {
        EXPECT_TRUE(widget->styleSheet().isEmpty()) << widget->metaObject()->className();
    }
}

TEST(ConsoleStyle, CutsAHeadingOfOneLineAndLeavesTwoAsTheyAre) {
    QStyleOptionHeader header;
    header.rect = QRect(0, 0, 60, 40);
    header.text = "Test AUC over steps";
    insetHeader(header, 6);
    EXPECT_TRUE(header.text.endsWith(QChar(0x2026)));
    header.text = "Test AUC\nover steps";
    insetHeader(header, 6);
    EXPECT_EQ(header.text, "Test AUC\nover steps");
}

TEST(Theme, NamesAreReadBack) {
    for (const ThemeChoice choice :
         {ThemeChoice::kSystem, ThemeChoice::kDark, ThemeChoice::kLight}) {
        EXPECT_EQ(parseTheme(nameOf(choice)), choice);
    }
    EXPECT_FALSE(parseTheme("pink").has_value());
}

TEST(Badge, EveryStateHasAMarkOfItsOwnShape) {
    using values::RunState;
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
