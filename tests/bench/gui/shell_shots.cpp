// Pictures of states that are rare with a live daemon: the shell's overlays, trouble with daemons,
// and the Data page with very little and with very much data. A person looks at them.
//
//   QT_QPA_PLATFORM=offscreen build/release/bench/shell_shots DIR [dark|light]
#include <QApplication>
#include <QCursor>
#include <QDir>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QPixmap>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>

#include "app/gui/console_app.h"
#include "app/gui/pages/data/data_page.h"
#include "app/gui/pages/data/steps_view.h"
#include "app/gui/widgets/notice_stack.h"
#include "app/gui/widgets/shell/connection_bar.h"
#include "tests/support/fake_daemon_client.h"
#include "tests/support/gui_poll.h"
#include "tests/unit/gui_data/sample_replies.h"

namespace {

using namespace millrace;
using namespace millrace::gui;

constexpr const char* kSpec =
    "name: click-model\nrecipe: []\nvariations: [{name: keep-30, set: {}}]\n";

// As wide and as long as real datasets of recommender models.
values::DatasetReply largeDataset() {
    values::DatasetReply reply = sampleDataset(400, 164);
    reply.filesTotal = 100'000;
    reply.columns[3].name =
        "user_history_of_clicked_item_category_ids_of_the_last_ninety_days_by_surface";
    reply.columns[4].min = std::string(80, 'a');
    return reply;
}

values::StepsReply largeSteps() {
    values::StepsReply reply = sampleSteps();
    for (values::SampleStage& stage : reply.stages) {
        const std::vector<std::int64_t> ids = stage.rowIds;
        for (int copy = 1; copy < 60; ++copy) {
            for (const std::int64_t id : ids) {
                stage.rowIds.push_back(id + 4 * copy);
            }
            for (values::SampleColumn& column : stage.columns) {
                for (std::size_t i = 0; i < ids.size(); ++i) {
                    column.values.push_back(column.values[i]);
                    if (!column.isNull.empty()) {
                        column.isNull.push_back(column.isNull[i]);
                    }
                }
            }
        }
        stage.rowsIn *= 60;
        stage.rowsOut *= 60;
    }
    reply.stages[1].step = "keep-requests-with-at-least-one-click-in-the-last-thirty-days";
    return reply;
}

class Shots {
 public:
    Shots(QApplication& application, QString dir, ThemeChoice choice)
        : dir_(std::move(dir)), theme_(application) {
        daemon_.onDataset = [this](const values::DatasetRequest&) { return dataset_; };
        daemon_.onSteps = [this](const values::StepsRequest&) { return steps_; };
        ConsoleOptions options;
        options.theme = choice;
        options.page = PageName::kData;
        suffix_ = nameOf(choice);
        app_ = std::make_unique<ConsoleApp>(
            ConsoleApp::Parts{[this](const std::string& a) { return daemon_.makeClient(a); },
                              makePage, settings_, theme_, "unix:/fake.sock",
                              [this] { return nowMs_; }},
            options);
        app_->window().resize(1440, 900);
        QCursor::setPos(-1, -1);
    }

    void takeAll() {
        app_->start();
        settle();
        shoot("data-empty");
        app_->spec().open(kSpec, "/srv/me/specs/click-model.yaml", "/srv/me/specs");
        settle();
        dataPage().stepsView().choose(1);
        shoot("data-filter");
        dataset_ = largeDataset();
        steps_ = largeSteps();
        app_->spec().setText(QString::fromLatin1(kSpec) + QLatin1Char('#'));
        settle();
        dataPage().stepsView().choose(4);
        shoot("data-large");
        takeErrors();
        takeOverlays();
        takeTrouble();
    }

 private:
    DataPage& dataPage() { return static_cast<DataPage&>(app_->window().page(PageName::kData)); }

    void takeErrors() {
        values::DatasetReply broken;
        broken.errors = {{"no file matches 'ratngs.csv'; did you mean 'ratings.csv'?", "",
                          "click-model.yaml", "dataset.path", 9, 9}};
        dataset_ = broken;
        steps_ = invalidArgument(
            "recipe.join: column 'movieID' is not in movies.csv; did you mean 'movieId'?");
        app_->spec().setText(QString::fromLatin1(kSpec) + QLatin1String("##"));
        settle();
        shoot("data-errors");
    }

    void takeOverlays() {
        MainWindow& window = app_->window();
        daemon_.addRuns(30);
        settle();
        window.openPalette();
        shoot("palette");
        window.openPalette("go ru");
        shoot("palette-search");
        window.openPalette("zzzz");
        shoot("palette-none");
        window.commandPalette().dismiss();
        window.openShortcuts();
        shoot("shortcuts");
        window.shortcuts().dismiss();
        window.tell({Notice::Kind::kDone, "Deleted click-model / keep-30", "Undo", [] {}});
        window.tell({Notice::Kind::kInfo, "Copied 50 rows as TSV", {}, {}});
        window.tell({Notice::Kind::kError,
                     "the note of r-00007 was not stored: the disk of /var/lib/millrace is full; "
                     "free some space and try again",
                     {},
                     {}});
        shoot("notices");
    }

    void takeTrouble() {
        MainWindow& window = app_->window();
        for (const char* address : {"gpu-01.cluster.example.org:7443", "/run/other/daemon.sock",
                                    "a-rather-long-host-name-of-a-node.in.a.large.cluster:7443"}) {
            app_->daemons().add(QString::fromLatin1(address)).status().IgnoreError();
        }
        app_->daemons().heard("unix:/fake.sock", nowMs_);
        daemon_.goAway();
        wait([&] { return !window.connectionBar().problem().isEmpty(); });
        nowMs_ += 12'000;
        test::letTimersRun(std::chrono::milliseconds(1200));
        shoot("reconnecting");
        window.connectionBar().startAdding();
        window.connectionBar().field()->setText("gpu-02");
        shoot("adding");
        window.resize(800, 560);
        shoot("narrow");
    }

    template <class Condition>
    void wait(Condition condition) {
        if (!QTest::qWaitFor(condition, 20'000)) {
            std::fprintf(stderr, "shell_shots: waited in vain\n");
        }
    }

    void settle() {
        test::letTimersRun(std::chrono::milliseconds(700));
        wait([this] { return app_->daemon().isSettled() && dataPage().isSettled(); });
    }

    void shoot(const char* name) {
        test::letTimersRun(std::chrono::milliseconds(50));
        const QString path =
            QDir(dir_).filePath(QString::fromLatin1(name) + '-' + suffix_ + ".png");
        if (!app_->window().grab().save(path)) {
            std::fprintf(stderr, "shell_shots: cannot write %s\n", qPrintable(path));
        }
    }

    QString dir_, suffix_;
    ThemeControl theme_;
    QTemporaryDir folder_;
    QSettings settings_{folder_.filePath("s.ini"), QSettings::IniFormat};
    std::int64_t nowMs_ = 1'700'000'000'000;
    Result<values::DatasetReply> dataset_ = sampleDataset();
    Result<values::StepsReply> steps_ = sampleSteps();
    client::FakeDaemon daemon_;
    std::unique_ptr<ConsoleApp> app_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: shell_shots DIR [dark|light]\n");
        return 2;
    }
    QApplication application(argc, argv);
    QDir().mkpath(QString::fromLocal8Bit(argv[1]));
    const auto choice = parseTheme(QString::fromLatin1(argc > 2 ? argv[2] : "dark"));
    Shots(application, QString::fromLocal8Bit(argv[1]), choice.value_or(ThemeChoice::kDark))
        .takeAll();
    return 0;
}
