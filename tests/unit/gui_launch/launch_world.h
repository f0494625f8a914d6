#pragma once
// A Launch page with a fake daemon that knows the MovieLens example.
#include <QElapsedTimer>
#include <QFile>
#include <QTableView>
#include <QTest>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/models/spec/spec_local_check.h"
#include "app/gui/pages/launch/launch_page.h"
#include "backend/core/status.h"
#include "tests/support/fake_daemon_client.h"
#include "tests/support/gui_poll.h"

namespace millrace::gui {

inline QString exampleDirectory() {
    return QStringLiteral(MILLRACE_SOURCE_DIR "/resources/examples/movielens");
}

inline QString exampleText() {
    QFile file(exampleDirectory() + QStringLiteral("/movielens.yaml"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// The destination that opens a run with this spec, to change it.
inline Destination opening(const QString& text, const QString& baseDir) {
    values::RunDetail run;
    run.summary.id = "r-old";
    run.specText = text.toStdString();
    run.specFileName = "movielens.yaml";
    run.resolvedSpec = R"({"base_dir":")" + baseDir.toStdString() + R"("})";
    Destination destination{PageName::kLaunch};
    destination.changed = std::make_shared<values::RunDetail>(run);
    return destination;
}

class LaunchWorld {
 public:
    LaunchWorld() {
        daemon.onCheck = [this](const values::CheckRequest& request) { return check(request); };
        daemon.onSubmit = [this](const values::SubmitRequest& request) { return submit(request); };
        page = std::make_unique<LaunchPage>(PageContext{bridge, runs, colors, document});
        QObject::connect(page.get(), &Page::said, page.get(),
                         [this](const Notice& notice) { notices.push_back(notice); });
        QObject::connect(page.get(), &Page::goTo, page.get(),
                         [this](const Destination& to) { destinations.push_back(to); });
        page->resize(1180, 800);
        page->show();
        page->activateWindow();
        page->setFocus();
        const bool isActive = QTest::qWaitForWindowActive(page.get());
        INVARIANT(isActive, "shortcuts need the active window");
    }

    void connectDaemon() { bridge.connectTo("unix:/fake.sock"); }
    bool settle() {
        // A page that has just begun settles only after its timers have started.
        test::letTimersRun(std::chrono::milliseconds(0));
        return QTest::qWaitFor([this] { return page->isSettled(); }, 20'000);
    }
    bool openExample() {
        connectDaemon();
        page->openFile(exampleDirectory() + QStringLiteral("/movielens.yaml"));
        return QTest::qWaitFor([this] { return document.isChecked() && page->isSettled(); },
                               20'000);
    }
    template <class T>
    T* child(const QString& accessibleName = {}) {
        for (T* one : page->findChildren<T*>()) {
            if (accessibleName.isEmpty() || one->accessibleName() == accessibleName) {
                return one;
            }
        }
        return nullptr;
    }
    SheetModel* sheet() {
        return qobject_cast<SheetModel*>(child<QTableView>(QStringLiteral("Variations"))->model());
    }

    client::FakeDaemon daemon;
    DaemonBridge bridge{[this](const std::string& address) { return daemon.makeClient(address); }};
    RunTable runs;
    RunColors colors;
    SpecDocument document;
    std::vector<Notice> notices;
    std::vector<Destination> destinations;
    std::vector<values::SubmitRequest> submits;
    std::vector<values::SpecError> daemonErrors, daemonWarnings, submitErrors;
    std::string planHash = "p";
    std::unique_ptr<LaunchPage> page;

 private:
    Result<values::CheckReply> check(const values::CheckRequest& request) const {
        values::CheckReply reply;
        for (const auto& [name, type] : {std::pair("userId", "int64"),
                                         {"movieId", "int64"},
                                         {"rating", "double"},
                                         {"timestamp", "int64"}}) {
            values::ColumnInfo column;
            column.name = name;
            column.type = type;
            reply.columns.push_back(column);
        }
        for (const auto& [name, type] :
             {std::pair("genres", "list<string>"), {"age_years", "double"}, {"is_new", "bool"}}) {
            values::ColumnInfo column;
            column.name = name;
            column.type = type;
            reply.derived.push_back(column);
        }
        const LocalCheck local = checkLocally(request.spec);
        reply.errors = local.errors;
        reply.errors.insert(reply.errors.end(), daemonErrors.begin(), daemonErrors.end());
        reply.warnings = daemonWarnings;
        if (reply.errors.empty()) {
            reply.runs.push_back({"", "{}", "h", "s", 80'668, 1, 10, planHash});
            for (const std::string& variation : local.variations) {
                // Only these keys change which rows are kept.
                const bool isOther = variation.starts_with("keep");
                reply.runs.push_back({variation, "{}", "h", isOther ? "s-" + variation : "s",
                                      80'668, 1, 10, planHash});
            }
        }
        return reply;
    }
    Result<values::SubmitReply> submit(const values::SubmitRequest& request) {
        submits.push_back(request);
        values::SubmitReply reply;
        reply.errors = submitErrors;
        if (!reply.errors.empty()) {
            return reply;
        }
        std::vector<std::string> names = request.variations;
        if (!request.withoutBase) {
            names.insert(names.begin(), "");
        }
        for (const std::string& name : names) {
            values::RunSummary run;
            run.id = "r-" + std::to_string(reply.runs.size());
            run.variation = name;
            reply.runs.push_back(run);
        }
        return reply;
    }
};

}  // namespace millrace::gui
