#pragma once
// The whole console in this process, with a real daemon, real workers and the MovieLens example.
//
// With MILLRACE_TEST_SSH=ssh://HOST it uses that daemon over ssh; the host is this machine
// (tests/integration/ssh/console_test.py).
#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QApplication>
#include <QSettings>
#include <QtTest/QTest>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/gui/console_app.h"
#include "app/gui/widgets/theme.h"
#include "app/session/daemon_door.h"
#include "app/session/remote_place.h"
#include "app/ssh/host.h"
#include "backend/filesystem/paths.h"
#include "tests/support/daemon_home.h"

namespace millrace::tests {

/// Runs the event loop until `condition` holds; returns false after `seconds`.
inline bool eventually(const std::function<bool()>& condition, double seconds = 60) {
    return QTest::qWaitFor(condition, static_cast<int>(seconds * 1000));
}

class ConsolePlace {
 public:
    ConsolePlace()
        : home_(MILLRACE_BIN_DIR),
          settings_(QString::fromStdString(home_.path("console.ini")), QSettings::IniFormat),
          theme_(*qApp) {
        std::filesystem::copy(std::string(MILLRACE_SOURCE_DIR) + "/resources/examples/movielens",
                              home_.path("spec"));
    }

    DaemonHome& home() { return home_; }
    std::string specPath() const { return home_.path("spec/movielens.yaml"); }

    /// Opens the console on this place's daemon, as its main() does.
    void open(const gui::ConsoleOptions& options = {}) {
        const auto makeClient = [this](const std::string& address) {
            return session::openClient(Address::parse(address).value_or(Address{}), "test", {},
                                       hosts_);
        };
        const auto nowMs = [] {
            return std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                .count();
        };
        gui::ConsoleApp::Parts parts{makeClient, gui::makePage, settings_,
                                     theme_,     address(),     nowMs};
        parts.elsewhere.baseDir = [this](const std::string& to, const std::string& baseDir) {
            return directories_.standsFor(to, baseDir);
        };
        parts.elsewhere.complete = [this](const std::string& to, values::SubmitRequest& request) {
            return directories_.complete(to, request);
        };
        app_ = std::make_unique<gui::ConsoleApp>(parts, options);
        app_->start();
    }
    void close() { app_.reset(); }
    static bool isOverSsh() { return !variable("MILLRACE_TEST_SSH").empty(); }
    std::string address() const {
        return isOverSsh() ? variable("MILLRACE_TEST_SSH") + home_.socketPath() : home_.address();
    }

    gui::ConsoleApp& app() { return *app_; }
    gui::MainWindow& window() { return app_->window(); }
    gui::ThemeControl& theme() { return theme_; }
    bool isConnected() { return app_->daemon().link().state == session::LinkState::kConnected; }

    /// The model of this type behind a view of the page; fails the test if there is none.
    template <class Model>
    Model& model(gui::PageName page) {
        for (QAbstractItemView* view : window().page(page).findChildren<QAbstractItemView*>()) {
            QAbstractItemModel* model = view->model();
            while (auto* proxy = qobject_cast<QAbstractProxyModel*>(model)) {
                model = proxy->sourceModel();
            }
            if (auto* found = dynamic_cast<Model*>(model)) {
                return *found;
            }
        }
        qFatal("no view of the page shows a %s", Model::staticMetaObject.className());
    }

 private:
    static std::string variable(const char* name) {
        const char* value = std::getenv(name);
        return value == nullptr ? "" : value;
    }
    static ssh::Settings sshSettings() {
        ssh::Settings settings;
        settings.transport =
            ssh::parseTransport(variable("MILLRACE_SSH_TRANSPORT")).value_or(ssh::Transport::kAuto);
        settings.programDirectory = MILLRACE_BIN_DIR;
        settings.searchPath = variable("PATH");
        settings.configFile = variable("MILLRACE_SSH_CONFIG");
        return settings;
    }

    DaemonHome home_;
    ssh::Hosts hosts_{sshSettings()};
    session::DirectoriesThere directories_{hosts_};
    QSettings settings_;
    gui::ThemeControl theme_;
    std::unique_ptr<gui::ConsoleApp> app_;
};

}  // namespace millrace::tests
