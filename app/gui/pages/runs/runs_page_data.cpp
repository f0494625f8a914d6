// What the page of runs asks the daemon for: filters, parameters, deleted runs.
#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/filter_text.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"

namespace millrace::gui {
namespace {

constexpr int kPageSize = 1'000;

bool isParamKey(const QString& key) {
    return key.startsWith("param:");
}

}  // namespace

void RunsPage::takeText() {
    const QString text = filter_->text().trimmed();
    ++filterSerial_;
    filter_->clearError();
    if (!isFilterExpression(text)) {
        isByDaemon_ = false;
        filterTimer_.stop();
        applyWords(text.split(' ', Qt::SkipEmptyParts));
        return;
    }
    isByDaemon_ = true;
    filterTimer_.start();
}

void RunsPage::applyWords(const QStringList& words) {
    wanted_.words = words;
    wanted_.ids.reset();
    applyFilter();
}

// The parse tells at once whether and where the text is wrong; until it is right, what was found
// last stays.
void RunsPage::askFilter() {
    if (!isByDaemon_) {
        return;
    }
    const std::string filter = filter_->text().trimmed().toStdString();
    const int serial = ++filterSerial_;
    ++numOpen_;
    context().daemon.parseFilter(
        filter, this, [this, filter, serial, epoch = epoch_](Result<client::FilterCheck> reply) {
            if (epoch != epoch_) {
                return;
            }
            --numOpen_;
            if (serial != filterSerial_) {
                return;
            }
            if (!reply.ok()) {
                filter_->setError(asSentence(std::string(messageOf(reply.status()))), 0);
            } else if (!reply->isOk) {
                filter_->setError(qtext(reply->message), reply->column);
            } else {
                filter_->clearError();
                foundIds_.clear();
                fetchIds(filter, "", serial);
            }
        });
}

void RunsPage::fetchIds(const std::string& filter, const std::string& pageToken, int serial) {
    client::ListRequest request;
    request.filter = filter;
    request.pageSize = kPageSize;
    request.pageToken = pageToken;
    request.view = filter_->isDeletedShown() ? client::RunView::kDeleted : client::RunView::kActive;
    ++numOpen_;
    context().daemon.list(std::move(request), this,
                          [this, filter, serial, epoch = epoch_](Result<client::RunPage> reply) {
                              if (epoch != epoch_) {
                                  return;
                              }
                              --numOpen_;
                              if (serial != filterSerial_) {
                                  return;
                              }
                              if (!reply.ok()) {
                                  filter_->setError(
                                      asSentence(std::string(messageOf(reply.status()))), 0);
                                  return;
                              }
                              for (const client::RunSummary& run : reply->runs) {
                                  foundIds_.insert(run.id);
                              }
                              if (!reply->nextPageToken.empty()) {
                                  fetchIds(filter, reply->nextPageToken, serial);
                                  return;
                              }
                              wanted_.words.clear();
                              wanted_.ids = foundIds_;
                              applyFilter();
                              filter_->remember();
                          });
}

void RunsPage::applyFilter() {
    rows_->setFilter(wanted_);
    showCounts();
    showEmpty();
}

void RunsPage::clearFilter() {
    filter_->clearAll();
    wanted_ = {};
    applyFilter();
    view_->focusRows();
}

void RunsPage::giveNames() {
    const auto texts = [](const std::vector<std::string>& names) {
        QStringList list;
        for (const std::string& name : names) {
            list.append(qtext(name));
        }
        return list;
    };
    const RunTable& runs = rows_->table();
    filter_->setNames(
        {texts(runs.metricNames()), texts(runs.paramNames()), texts(runs.tagNames())});
    fetchParams("", 0);
}

// Only where a column shows one: lists with parameters are large.
void RunsPage::needParams() {
    const std::vector<QString> keys = view_->columns().keys();
    if (std::any_of(keys.begin(), keys.end(), isParamKey) || isParamKey(rows_->sortKey())) {
        fetchParams("", 0);
    }
}

void RunsPage::fetchParams(const std::string& pageToken, int serial) {
    RunTable& runs = context().runs;
    bool isMissing = false;
    for (int row = 0; row < runs.numRuns() && !isMissing; ++row) {
        isMissing = !runs.hasParams(row);
    }
    if (!isMissing || (pageToken.empty() && isReadingParams_)) {
        return;
    }
    isReadingParams_ = true;
    client::ListRequest request;
    request.pageSize = kPageSize;
    request.pageToken = pageToken;
    request.withParams = true;
    request.changesSince = paramRevision_;
    ++numOpen_;
    context().daemon.list(std::move(request), this,
                          [this, serial, epoch = epoch_](Result<client::RunPage> reply) {
                              if (epoch != epoch_) {
                                  return;
                              }
                              --numOpen_;
                              if (!reply.ok()) {
                                  isReadingParams_ = false;
                                  return;
                              }
                              context().runs.setParams(reply->runs);
                              isReadingParams_ = !reply->nextPageToken.empty();
                              paramRevision_ = isReadingParams_ ? paramRevision_ : reply->revision;
                              if (isReadingParams_) {
                                  fetchParams(reply->nextPageToken, serial + 1);
                              } else {
                                  Q_EMIT paramsRead();
                              }
                          });
}

void RunsPage::setDeletedShown(bool isShown) {
    RunTable& table = isShown ? *deletedRuns_ : context().runs;
    rows_->clearTicks();
    details_->setTable(table);
    rows_->setTable(table);
    if (isShown) {
        fetchDeleted("");
    }
    if (isByDaemon_) {
        askFilter();
    }
    showCounts();
    showEmpty();
}

void RunsPage::fetchDeleted(const std::string& pageToken) {
    client::ListRequest request;
    request.view = client::RunView::kDeleted;
    request.pageSize = kPageSize;
    request.pageToken = pageToken;
    ++numOpen_;
    context().daemon.list(
        std::move(request), this,
        [this, isFirst = pageToken.empty(), epoch = epoch_](Result<client::RunPage> reply) {
            if (epoch != epoch_) {
                return;
            }
            --numOpen_;
            if (!reply.ok()) {
                Notice notice;
                notice.kind = Notice::Kind::kError;
                notice.text = asSentence(std::string(messageOf(reply.status())));
                Q_EMIT said(notice);
                return;
            }
            if (isFirst && reply->runs.empty()) {
                deletedRuns_->clear();
            }
            deletedRuns_->apply(isFirst, reply->runs, {});
            if (!reply->nextPageToken.empty()) {
                fetchDeleted(reply->nextPageToken);
            }
            showCounts();
            showEmpty();
        });
}

}  // namespace millrace::gui
