#pragma once
// --screenshot: draws every page of a live daemon into PNG files, without user input.
//
// A chain of timer steps, without a nested event loop: connect, then for each theme and picture
// open the page, wait until no request is pending, draw. Threads: the GUI thread. Failure: a daemon
// that does not answer in time, or a file that cannot be written, ends it with a sentence.
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/console_app.h"

namespace millrace::gui {

class Screenshot final : public QObject {
    Q_OBJECT

 public:
    /// `onDone`: the exit code, and a sentence if it is not 0.
    using OnDone = std::function<void(int code, const std::string& sentence)>;
    Screenshot(ConsoleApp& app, ThemeControl& theme, const ConsoleOptions& options, OnDone onDone);
    void start();

 private:
    struct Picture {
        QString name;  ///< "runs-compare"
        std::function<void()> prepare;
    };
    void poll();
    void pollConnection();
    void listPictures();
    void nextPicture();
    void draw();
    void end(int code, const std::string& sentence);
    bool isSettled();
    void openNewestSpec(PageName page);
    std::vector<std::string> liveRuns() const;
    std::vector<std::string> comparedRuns() const;

    ConsoleApp& app_;
    ThemeControl& theme_;
    ConsoleOptions options_;
    OnDone onDone_;
    std::vector<Picture> pictures_;
    std::vector<ThemeChoice> themes_;
    std::size_t next_ = 0;
    QTimer timer_;
    QElapsedTimer since_, quiet_;
    bool isConnected_ = false, isPending_ = false;
};

}  // namespace millrace::gui
