#include "app/cli/purge_question.h"

#include <algorithm>

#include "app/session/figures.h"
#include "app/session/live_model.h"

namespace millrace::cli {
namespace {

using values::RunSummary;

constexpr int kMostOfASubmit = 1'000;
constexpr std::size_t kMostNamed = 8;

std::string submitOf(const RunSummary& run) {
    return run.variationOf.empty() ? run.id : run.variationOf;
}

// Runs of the same submit that are kept: not being purged now, and not purged before.
Result<std::vector<RunSummary>> keptOf(client::DaemonClient& daemon, const std::string& submit,
                                       const std::vector<RunSummary>& going) {
    values::ListRequest request;
    request.filter = strCat("base_run_id = '", submit, "'");
    request.view = values::RunView::kAll;
    request.pageSize = kMostOfASubmit;
    ASSIGN_OR_RETURN(values::RunPage page, daemon.list(request));
    if (const Result<values::RunDetail> base = daemon.get(submit); base.ok()) {
        page.runs.push_back(base->summary);
    }
    std::erase_if(page.runs, [&](const RunSummary& run) {
        const bool goes =
            std::ranges::any_of(going, [&](const RunSummary& one) { return one.id == run.id; });
        return goes || run.isPurged() || submitOf(run) != submit;
    });
    return std::move(page.runs);
}

std::string idsText(const std::vector<RunSummary>& runs) {
    std::string text;
    for (std::size_t i = 0; i < std::min(runs.size(), kMostNamed); ++i) {
        strAppend(&text, i == 0 ? "" : ", ", runs[i].id);
    }
    return runs.size() > kMostNamed ? text + ", ..." : text;
}

}  // namespace

Result<std::vector<std::string>> whatPurgeFrees(client::DaemonClient& daemon,
                                                const std::vector<RunSummary>& runs) {
    std::vector<std::string> lines;
    for (const RunSummary& run : runs) {
        ASSIGN_OR_RETURN(const std::vector<RunSummary> kept, keptOf(daemon, submitOf(run), runs));
        std::string text = strCat(run.id, "  ", session::labelOf(run), "  ", run.stateWord());
        if (run.variationOf.empty() && !kept.empty()) {
            strAppend(&text, "; ",
                      session::countText(static_cast<std::int64_t>(kept.size()), "variation"),
                      kept.size() == 1 ? " is" : " are", " compared with it: ", idsText(kept));
        }
        const bool isOnly = std::ranges::none_of(
            kept, [](const RunSummary& other) { return !other.evalOrderHash.empty(); });
        if (isOnly && !run.evalOrderHash.empty()) {
            strAppend(&text, "; the only evaluation of its submit");
        }
        lines.push_back(std::move(text));
    }
    return lines;
}

}  // namespace millrace::cli
