#include "app/gui/pages/runs/runs_filter.h"

#include <QRegularExpression>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/filter_text.h"
#include "app/gui/pages/runs/filter_bar.h"

namespace millrace::gui {
namespace {

constexpr int kTextMs = 180;      ///< after the last key press in an expression
constexpr int kChangesMs = 1500;  ///< after a change of the runs

QStringList textsOf(const std::vector<std::string>& names) {
    QStringList texts;
    for (const std::string& name : names) {
        texts.append(qtext(name));
    }
    return texts;
}

// The bar shows the position itself.
QString withoutPlace(const QString& message) {
    static const QRegularExpression kPlace(R"(^filter, character \d+: )");
    return QString(message).remove(kPlace);
}

}  // namespace

RunsFilter::RunsFilter(DaemonBridge& daemon, FilterBar& bar, RunRows& rows, QObject* parent)
    : QObject(parent), daemon_(daemon), bar_(bar), rows_(rows), pages_(daemon, nullptr) {
    textTimer_.setSingleShot(true);
    textTimer_.setInterval(kTextMs);
    changesTimer_.setSingleShot(true);
    changesTimer_.setInterval(kChangesMs);
    connect(&textTimer_, &QTimer::timeout, this, [this] { parse(); });
    connect(&changesTimer_, &QTimer::timeout, this, [this] { askAgain(); });
    connect(&bar_, &FilterBar::textChanged, this, [this] { takeText(); });
    connect(&bar_, &FilterBar::statesChanged, this, [this] {
        wanted_.states = bar_.states();
        apply();
    });
    connect(&bar_, &FilterBar::namesNeeded, this, [this] { giveNames(); });
}

void RunsFilter::takeText() {
    const QString text = bar_.text().trimmed();
    ++serial_;
    pages_.drop();
    bar_.clearError();
    isExpression_ = isFilterExpression(text);
    if (isExpression_) {
        textTimer_.start();
        return;
    }
    textTimer_.stop();
    const RunFilter shown = wanted_;
    wanted_.words = text.split(' ', Qt::SkipEmptyParts);
    wanted_.ids.reset();
    apply();
    if (rows_.numMatching() == 0 && isFilterStart(text)) {
        wanted_ = shown;  // previous results stay until the filter is complete
        apply();
    }
}

void RunsFilter::giveNames() {
    const RunTable& runs = rows_.table();
    bar_.setNames(
        {textsOf(runs.metricNames()), textsOf(runs.paramNames()), textsOf(runs.tagNames())});
}

void RunsFilter::runsChanged() {
    if (isExpression_ && !changesTimer_.isActive()) {
        changesTimer_.start();
    }
}

void RunsFilter::askAgain() {
    if (isExpression_) {
        parse();
    }
}

// Parses first, because only a parse reports the position of an error.
void RunsFilter::parse() {
    const std::string filter = bar_.text().trimmed().toStdString();
    pages_.drop();
    ++numParsing_;
    daemon_.parseFilter(
        filter, this, [this, filter, serial = ++serial_](Result<values::FilterCheck> reply) {
            --numParsing_;
            if (serial != serial_) {
                return;
            }
            if (!reply.ok()) {
                bar_.setError(asSentence(std::string(messageOf(reply.status()))), 0);
            } else if (!reply->isOk) {
                bar_.setError(withoutPlace(qtext(reply->message)), reply->column);
            } else {
                bar_.setError(qtext(reply->message), 0);
                find(filter);
            }
        });
}

void RunsFilter::find(const std::string& filter) {
    values::ListRequest request;
    request.filter = filter;
    request.view = bar_.isDeletedShown() ? values::RunView::kDeleted : values::RunView::kActive;
    foundIds_.clear();
    pages_.start(
        std::move(request),
        [this](const values::RunPage& page, bool) {
            for (const values::RunSummary& run : page.runs) {
                foundIds_.insert(run.id);
            }
        },
        [this](const Status& status) {
            if (status.ok()) {
                takeFound();
            } else {
                bar_.setError(asSentence(std::string(messageOf(status))), 0);
            }
        });
}

void RunsFilter::takeFound() {
    wanted_.words.clear();
    wanted_.ids = foundIds_;
    apply();
    bar_.remember();
}

void RunsFilter::apply() {
    rows_.setFilter(wanted_);
    Q_EMIT applied();
}

void RunsFilter::clear() {
    bar_.clearAll();
    wanted_ = {};
    apply();
}

void RunsFilter::drop() {
    ++serial_;
    numParsing_ = 0;
    pages_.drop();
}

}  // namespace millrace::gui
