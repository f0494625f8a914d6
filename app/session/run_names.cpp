#include "app/session/run_names.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "app/session/live_model.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

constexpr std::size_t kCandidatesShown = 8;

bool startsWith(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

std::string slashName(const values::RunSummary& run) {
    return run.variation.empty() ? run.name : strCat(run.name, "/", run.variation);
}

Status ambiguous(std::string_view text, const std::vector<const values::RunSummary*>& found) {
    std::string list;
    for (std::size_t i = 0; i < found.size() && i < kCandidatesShown; ++i) {
        strAppend(&list, i == 0 ? "" : ", ", found[i]->id, " (", labelOf(*found[i]), ", ",
                  nameOf(found[i]->state), ")");
    }
    if (found.size() > kCandidatesShown) {
        strAppend(&list, " and ", found.size() - kCandidatesShown, " more");
    }
    return invalidArgument("'", text, "' names ", found.size(), " runs: ", list,
                           "; give an id or more of it");
}

}  // namespace

Result<values::RunSummary> pickRun(std::string_view text,
                                   const std::vector<values::RunSummary>& runs) {
    using Test = std::function<bool(const values::RunSummary&)>;
    const Test tests[] = {
        [&](const auto& run) { return run.id == text || run.uid == text; },
        [&](const auto& run) { return slashName(run) == text || labelOf(run) == text; },
        [&](const auto& run) { return run.name == text; },
        [&](const auto& run) { return run.variation == text; },
        [&](const auto& run) {
            return startsWith(run.id, text) || startsWith(run.uid, text) ||
                   run.id == strCat("r-", text) || startsWith(slashName(run), text);
        }};
    for (const Test& test : tests) {
        std::vector<const values::RunSummary*> found;
        for (const values::RunSummary& run : runs) {
            if (!text.empty() && test(run)) {
                found.push_back(&run);
            }
        }
        if (found.size() == 1) {
            return *found.front();
        }
        if (found.size() > 1) {
            return ambiguous(text, found);
        }
    }
    std::vector<std::string> known;
    for (const values::RunSummary& run : runs) {
        known.push_back(run.id);
        known.push_back(slashName(run));
    }
    const std::string near = nearestName(text, known);
    return notFound("no run is called '", text, "'",
                    near.empty() ? "; 'millrace ls' shows what there is"
                                 : strCat("; did you mean '", near, "'?"));
}

Result<values::RunDetail> findRun(client::DaemonClient& client, const std::string& text) {
    Result<values::RunDetail> detail = client.get(text);
    const absl::StatusCode code = detail.status().code();
    if (code != absl::StatusCode::kNotFound && code != absl::StatusCode::kInvalidArgument) {
        return detail;
    }
    values::ListRequest request;
    request.pageSize = 1000;
    request.view = values::RunView::kAll;
    ASSIGN_OR_RETURN(const values::RunPage page, client.list(request));
    ASSIGN_OR_RETURN(const values::RunSummary run, pickRun(text, page.runs));
    return client.get(run.id);
}

Result<values::RunDetail> findRunToChange(client::DaemonClient& client, const std::string& text) {
    ASSIGN_OR_RETURN(values::RunDetail detail, findRun(client, text));
    const values::RunSummary& run = detail.summary;
    const std::string names[] = {run.uid, run.name, slashName(run), labelOf(run), run.variation};
    const bool isBeginning =
        std::ranges::any_of(names, [&](const std::string& name) { return startsWith(name, text); });
    // A text that is none of them is the key of a submit.
    if (isBeginning && std::ranges::find(names, text) == std::end(names)) {
        return invalidArgument("'", text, "' is only a part of the name of run ", run.id, " (",
                               labelOf(run),
                               "); to change a run, give its whole id, uid or name, or the "
                               "beginning of its id with r-");
    }
    return detail;
}

}  // namespace millrace::session
