#pragma once
// The whole console in this process, on a real daemon with real workers and the MovieLens example.
//
// Waiting is on conditions, with the event loop running; nothing of it outlives the test.
#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QApplication>
#include <QSettings>
#include <QtTest/QTest>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/client/grpc_client.h"
#include "app/gui/console_app.h"
#include "app/gui/widgets/theme.h"
#include "backend/core/paths.h"
#include "tests/support/daemon_home.h"

namespace millrace::tests {

/// Runs the event loop until `condition` holds; false after `seconds`.
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

    /// The console as its main() makes it, on this place's daemon.
    void open(const gui::ConsoleOptions& options = {}) {
        const auto makeClient = [](const std::string& address) {
            client::GrpcClientOptions grpc;
            grpc.address = Address::parse(address).value_or(Address{});
            grpc.clientName = "test";
            return client::makeGrpcClient(std::move(grpc));
        };
        const auto nowMs = [] {
            return std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                .count();
        };
        app_ = std::make_unique<gui::ConsoleApp>(
            gui::ConsoleApp::Parts{makeClient, gui::makePage, settings_, theme_, home_.address(),
                                   nowMs},
            options);
        app_->start();
    }
    void close() { app_.reset(); }

    gui::ConsoleApp& app() { return *app_; }
    gui::MainWindow& window() { return app_->window(); }
    gui::ThemeControl& theme() { return theme_; }
    bool isConnected() { return app_->daemon().link().state == session::LinkState::kConnected; }

    /// The model of this type that a view of the page shows; the test ends where there is none.
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
    DaemonHome home_;
    QSettings settings_;
    gui::ThemeControl theme_;
    std::unique_ptr<gui::ConsoleApp> app_;
};

}  // namespace millrace::tests
