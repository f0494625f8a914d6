#include "daemon/agent/rank_change.h"

#include <utility>

#include "backend/spec/run_spec.h"
#include "backend/stream/steps.h"

namespace millrace::agent {

Result<runs::MaybeSpecChange> withRanks(const runs::RunRecord& run,
                                        const values::RankCount& wanted) {
    ASSIGN_OR_RETURN(const Json json, parseJson(run.resolvedSpec, "resolved spec"));
    ASSIGN_OR_RETURN(spec::RunSpec spec, spec::RunSpec::fromJson(json));
    const std::int64_t ranks = wanted.ranks == 0 ? spec.train.ranks : wanted.ranks;
    const bool areFewer = ranks < spec.train.nodes;
    const std::int64_t nodes = wanted.nodes != 0 ? wanted.nodes : areFewer ? 1 : spec.train.nodes;
    if (ranks == spec.train.ranks && nodes == spec.train.nodes) {
        return runs::MaybeSpecChange();
    }
    if (ranks != spec.train.ranks && spec.command.empty() && !spec.model.hasTables()) {
        return invalidArgument("--ranks ", ranks, ": model.type ", spec.model.type(), " of run ",
                               run.id, " sums up the stream in one rank");
    }
    const std::int64_t perStep = spec.microBatchesPerStep();
    if (ranks < 1 || perStep % ranks != 0) {
        return invalidArgument("--ranks ", ranks, ": does not divide the ", perStep,
                               " micro-batches of a step (batch.rows ", spec.batch.rows,
                               ", micro_rows ", spec.batch.microRows,
                               "); admissible: ", stream::admissibleRanks(perStep));
    }
    if (nodes < 1 || ranks % nodes != 0) {
        return invalidArgument("--nodes ", nodes, ": does not divide the ", ranks,
                               " ranks; each node has as many of them");
    }
    runs::SpecChange change;
    if (ranks != spec.train.ranks) {
        change.params["train.ranks"] = std::to_string(ranks);
    }
    if (nodes != spec.train.nodes) {
        change.params["train.nodes"] = std::to_string(nodes);
    }
    spec.train.ranks = ranks;
    spec.train.nodes = nodes;
    change.resolvedSpec = dumpJson(spec.toJson());
    change.specHash = spec::specHash(spec);
    return runs::MaybeSpecChange(std::move(change));
}

std::string describeChange(const runs::RunRecord& run, const runs::SpecChange& change) {
    std::string text = "goes on with", before;
    for (const auto& [key, noun] : {std::pair("train.ranks", "rank"), {"train.nodes", "node"}}) {
        const auto now = change.params.find(key);
        if (now == change.params.end()) {
            continue;
        }
        const auto then = run.params.find(key);
        const bool isFirst = before.empty();
        strAppend(&text, isFirst ? " " : ", ", now->second, " ", noun,
                  now->second == "1" ? "" : "s");
        strAppend(&before, isFirst ? "; before: " : ", ",
                  then == run.params.end() ? "1" : then->second);
    }
    return text + before;
}

}  // namespace millrace::agent
