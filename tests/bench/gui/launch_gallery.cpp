// Renders the Launch page in its states to PNG files, dark and light. A person looks at them after
// a change in how the page looks. launch_gallery DIR
#include <QApplication>
#include <QDir>
#include <QScrollBar>
#include <cstdio>
#include <functional>

#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/completion_popup.h"
#include "app/gui/widgets/yaml/yaml_editor.h"
#include "tests/support/gui_poll.h"
#include "tests/unit/gui_launch/launch_world.h"

namespace millrace::gui {
namespace {

YamlEditor& editorOf(LaunchWorld& world) {
    return *world.child<YamlEditor>();
}

void type(LaunchWorld& world, const QString& behind, const QString& text) {
    YamlEditor& editor = editorOf(world);
    QTextCursor cursor = editor.textCursor();
    cursor.setPosition(static_cast<int>(editor.text().indexOf(behind) + behind.size()));
    editor.setTextCursor(cursor);
    editor.setFocus();
    for (const QChar c : text) {
        if (c == u'\n') {
            QTest::keyClick(&editor, Qt::Key_Return);
        } else {
            QTest::keyClick(&editor, c.toLatin1());
        }
    }
    test::letTimersRun(std::chrono::milliseconds(120));
}

QString manyVariations() {
    QString text = exampleText();
    for (int i = 0; i < 40; ++i) {
        text += QStringLiteral(
                    "  - {name: grid-%1, set: {train.learning_rate: %2, batch.rows: %3, "
                    "model.top: [%4, 1], recipe.negatives.keep: 0.%5}}\n")
                    .arg(i)
                    .arg(0.001 * (i + 1))
                    .arg(256 << (i % 3))
                    .arg(32 << (i % 3))
                    .arg(i % 9 + 1);
    }
    return text;
}

using State = std::pair<const char*, std::function<void(LaunchWorld&)>>;

const std::vector<State>& states() {
    static const std::vector<State> kStates = {
        {"empty", [](LaunchWorld&) {}},
        {"open",
         [](LaunchWorld& world) {
             world.openExample();
             world.sheet()->setTicked(1, true);
             world.sheet()->setTicked(2, true);
         }},
        {"errors",
         [](LaunchWorld& world) {
             world.openExample();
             type(world, QStringLiteral("learning_rate"), QStringLiteral("s"));
             world.sheet()->setData(world.sheet()->index(1, 2), QStringLiteral("3"), Qt::EditRole);
             type(world, QStringLiteral("is not null"), QStringLiteral(" and (rating"));
             test::letTimersRun(std::chrono::milliseconds(600));
         }},
        {"keys",
         [](LaunchWorld& world) {
             world.openExample();
             type(world, QStringLiteral("optimizer: adamw"), QStringLiteral("\n"));
             QTest::keyClick(&editorOf(world), Qt::Key_Space, Qt::ControlModifier);
         }},
        {"call",
         [](LaunchWorld& world) {
             world.openExample();
             type(world, QStringLiteral("is_new: year >= 2000"),
                  QStringLiteral(" and coalesce(ra"));
         }},
        {"many",
         [](LaunchWorld& world) {
             world.connectDaemon();
             world.page->arrive(opening(manyVariations(), exampleDirectory()));
             test::letTimersRun(std::chrono::milliseconds(700));
             world.sheet()->tickAll(true);
         }},
    };
    return kStates;
}

void render(const QString& directory, ThemeControl& theme) {
    for (const bool isDark : {true, false}) {
        theme.choose(isDark ? ThemeChoice::kDark : ThemeChoice::kLight);
        for (const auto& [name, prepare] : states()) {
            LaunchWorld world;
            prepare(world);
            test::letTimersRun(std::chrono::milliseconds(50));
            const QString path =
                QStringLiteral("%1/launch-%2-%3.png")
                    .arg(directory, QString::fromUtf8(name),
                         isDark ? QStringLiteral("dark") : QStringLiteral("light"));
            world.page->grab().save(path);
            std::printf("%s\n", qPrintable(path));
        }
    }
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: launch_gallery DIR\n");
        return 2;
    }
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    millrace::gui::ThemeControl theme(application);
    QDir().mkpath(QString::fromLocal8Bit(argv[1]));
    millrace::gui::render(QString::fromLocal8Bit(argv[1]), theme);
    return 0;
}
