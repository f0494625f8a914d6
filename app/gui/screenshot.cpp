#include "app/gui/screenshot.h"

#include <QCursor>
#include <QDir>
#include <QPixmap>
#include <algorithm>

#include "backend/text/json.h"

namespace millrace::gui {
namespace {

constexpr int kPollMs = 50, kConnectMsMax = 15'000, kSettleMsMax = 30'000, kQuietMs = 400;
constexpr std::size_t kMostCompared = 4;
constexpr int kExitUnreachable = 6, kExitFailed = 1;

std::string baseDirOf(const values::RunDetail& run) {
    const Result<Json> spec = parseJson(run.resolvedSpec, "spec");
    return spec.ok() ? jsonString(*spec, "base_dir") : std::string();
}

}  // namespace

Screenshot::Screenshot(ConsoleApp& app, ThemeControl& theme, const ConsoleOptions& options,
                       OnDone onDone)
    : app_(app), theme_(theme), options_(options), onDone_(std::move(onDone)) {
    if (options.theme.has_value()) {
        themes_ = {*options.theme};
    } else {
        themes_ = {ThemeChoice::kDark, ThemeChoice::kLight};
    }
    timer_.setInterval(kPollMs);
    connect(&timer_, &QTimer::timeout, this, &Screenshot::poll);
}

void Screenshot::start() {
    if (!QDir().mkpath(QString::fromStdString(options_.screenshotDir))) {
        end(kExitFailed, "cannot make the directory " + options_.screenshotDir);
        return;
    }
    // Moves the mouse away, so that no button is drawn as hovered.
    QCursor::setPos(-1, -1);
    app_.window().resize(options_.width, options_.height);
    app_.start();
    app_.window().resize(options_.width, options_.height);
    since_.start();
    timer_.start();
}

void Screenshot::poll() {
    if (!isConnected_) {
        pollConnection();
        return;
    }
    if (!isSettled()) {
        quiet_.invalidate();
    } else if (!quiet_.isValid()) {
        quiet_.start();
    }
    const bool isQuiet = quiet_.isValid() && quiet_.elapsed() >= kQuietMs;
    // A page that never comes to rest is drawn as it is.
    if (isQuiet || since_.elapsed() > kSettleMsMax) {
        draw();
    }
}

void Screenshot::pollConnection() {
    const session::Link& link = app_.daemon().link();
    if (link.state == session::LinkState::kConnected && app_.daemon().isSettled()) {
        isConnected_ = true;
        listPictures();
        nextPicture();
        return;
    }
    const bool isOver = link.state == session::LinkState::kRefused ||
                        since_.elapsed() > kConnectMsMax ||
                        (link.state == session::LinkState::kReconnecting && link.tries >= 3);
    if (isOver) {
        end(kExitUnreachable, link.sentence.empty() ? "the daemon does not answer" : link.sentence);
    }
}

bool Screenshot::isSettled() {
    MainWindow& window = app_.window();
    return !isPending_ && app_.daemon().isSettled() &&
           window.page(window.currentPage()).isSettled();
}

void Screenshot::listPictures() {
    MainWindow& window = app_.window();
    pictures_ = {
        {"watch", [&, this] { window.goTo({PageName::kWatch, liveRuns()}); }},
        {"runs",
         [&, this] {
             std::vector<std::string> runs = comparedRuns();
             runs.resize(std::min<std::size_t>(1, runs.size()));
             window.goTo({PageName::kRuns, runs});
         }},
        {"runs-compare", [&, this] { window.goTo({PageName::kRuns, comparedRuns()}); }},
        {"launch", [this] { openNewestSpec(PageName::kLaunch); }},
        {"data", [this] { openNewestSpec(PageName::kData); }},
    };
    if (comparedRuns().size() < 2) {
        std::erase_if(pictures_, [](const Picture& picture) {
            return picture.name == QLatin1String("runs-compare");
        });
    }
    if (options_.page.has_value()) {
        std::erase_if(pictures_, [this](const Picture& picture) {
            return !picture.name.startsWith(nameOf(*options_.page));
        });
    }
}

void Screenshot::nextPicture() {
    const std::size_t total = pictures_.size() * themes_.size();
    if (next_ == total) {
        end(0, {});
        return;
    }
    theme_.choose(themes_[next_ / pictures_.size()]);
    pictures_[next_ % pictures_.size()].prepare();
    quiet_.invalidate();
    since_.restart();
}

void Screenshot::draw() {
    const QString name = pictures_[next_ % pictures_.size()].name + QLatin1Char('-') +
                         nameOf(themes_[next_ / pictures_.size()]) + QLatin1String(".png");
    const QString path = QDir(QString::fromStdString(options_.screenshotDir)).filePath(name);
    if (!app_.window().grab().save(path)) {
        end(kExitFailed, "cannot write " + path.toStdString());
        return;
    }
    ++next_;
    nextPicture();
}

void Screenshot::end(int code, const std::string& sentence) {
    timer_.stop();
    // Deferred, because onDone has no effect before the event loop runs.
    QTimer::singleShot(0, this, [this, code, sentence] { onDone_(code, sentence); });
}

void Screenshot::openNewestSpec(PageName page) {
    MainWindow& window = app_.window();
    const RunTable& runs = app_.runs();
    if (!app_.spec().isEmpty() || runs.numRuns() == 0) {
        window.goTo({page});
        return;
    }
    isPending_ = true;
    app_.daemon().get(runs.run(runs.numRuns() - 1).id, this,
                      [this, page](Result<values::RunDetail> run) {
                          isPending_ = false;
                          quiet_.invalidate();
                          if (run.ok()) {
                              app_.spec().open(QString::fromStdString(run->specText), {},
                                               QString::fromStdString(baseDirOf(*run)));
                          }
                          app_.window().goTo({page});
                      });
}

std::vector<std::string> Screenshot::liveRuns() const {
    const RunTable& runs = app_.runs();
    std::vector<std::string> live, newest;
    for (int row = runs.numRuns(); row-- > 0;) {
        const values::RunSummary& run = runs.run(row);
        std::vector<std::string>& to = values::isEnded(run.state) ? newest : live;
        if (to.size() < kMostCompared) {
            to.push_back(run.id);
        }
    }
    return live.empty() ? newest : live;
}

std::vector<std::string> Screenshot::comparedRuns() const {
    const RunTable& runs = app_.runs();
    std::vector<std::string> ids;
    std::string group;
    for (int row = runs.numRuns(); row-- > 0 && ids.size() < kMostCompared;) {
        const values::RunSummary& run = runs.run(row);
        if (run.state != values::RunState::kFinished) {
            continue;
        }
        if (ids.empty()) {
            group = run.group;
        }
        if (run.group == group) {
            ids.push_back(run.id);
        }
    }
    return ids.size() < 2 ? liveRuns() : ids;
}

}  // namespace millrace::gui
