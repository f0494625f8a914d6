// Measures what typing costs the GUI thread in a spec of 2,000 lines, and prints one JSON object.
//
// key      from the key's event until the text is painted and coloured and the document is updated
// settled  work that runs 30 ms and 40 ms after the last key: reading the sheet again, completion
// local    the reader's whole check, which runs in another thread
#include <QApplication>
#include <QScrollBar>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "app/gui/models/spec/spec_analysis.h"
#include "app/gui/models/spec/spec_completion.h"
#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/yaml_editor.h"
#include "tests/support/gui_poll.h"
#include "tests/unit/gui_launch/launch_world.h"

namespace millrace::gui {
namespace {

double threadCpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

QString longSpec(int lines) {
    QString text = exampleText();
    QString derive = QStringLiteral("  - derive:\n");
    for (int i = 0; i < lines - text.count(u'\n') - 101; ++i) {
        derive +=
            QStringLiteral("      made_%1: coalesce(timestamp / 31557600 + %1, 0) * 2\n").arg(i);
    }
    text.replace(QStringLiteral("labels: {liked"), derive + QStringLiteral("labels: {liked"));
    for (int i = 0; i < 100; ++i) {
        text += QStringLiteral("  - {name: v%1, set: {recipe.negatives.keep: 0.%2}}\n")
                    .arg(i)
                    .arg(i % 9 + 1);
    }
    return text;
}

std::string figures(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    char text[128];
    std::snprintf(text, sizeof text, "{\"mean_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f}",
                  sum / static_cast<double>(values.size()), values[values.size() * 99 / 100],
                  values.back());
    return text;
}

template <class Work>
double cost(Work work) {
    const double start = threadCpuMs();
    work();
    return threadCpuMs() - start;
}

int run() {
    LaunchWorld world;
    const QString text = longSpec(2000);
    world.page->arrive(opening(text, exampleDirectory()));
    world.settle();
    YamlEditor& editor = *world.child<YamlEditor>();
    editor.goTo(900, 40);
    world.settle();
    std::vector<double> keys, rests, completions, checks;
    for (int i = 0; i < 200; ++i) {
        const char c = "abcdefghij "[i % 11];
        keys.push_back(cost([&] {
            QTest::keyClick(&editor, c, Qt::NoModifier, -1);
            editor.viewport()->repaint();
        }));
    }
    for (int i = 0; i < 30; ++i) {
        QTest::keyClick(&editor, 'x');
        const double start = threadCpuMs();
        test::letTimersRun(std::chrono::milliseconds(120));  // the timers of 30 ms and 40 ms expire
        rests.push_back(threadCpuMs() - start);
        completions.push_back(
            cost([&] { completionsAt(editor.text(), editor.textCursor().position(), {}); }));
        checks.push_back(cost([&] { checkLocally(world.document.source()); }));
    }
    std::printf(
        "{\"lines\": %d, \"characters\": %d,\n \"key\": %s,\n \"settled\": %s,\n "
        "\"completion\": %s,\n \"analysis\": %s,\n \"local\": %s}\n",
        static_cast<int>(text.count(u'\n')), static_cast<int>(text.size()), figures(keys).c_str(),
        figures(rests).c_str(), figures(completions).c_str(),
        figures({cost([&] { SpecAnalysis analysis(text); })}).c_str(), figures(checks).c_str());
    return 0;
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    millrace::gui::ThemeControl theme(application);
    return millrace::gui::run();
}
