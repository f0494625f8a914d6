#include "daemon/agent/rank_change.h"

#include "backend/spec/run_spec.h"
#include "backend/stream/steps.h"

namespace millrace::agent {

Result<runs::MaybeSpecChange> withRanks(const runs::RunRecord& run, int ranks) {
    ASSIGN_OR_RETURN(const Json json, parseJson(run.resolvedSpec, "resolved spec"));
    ASSIGN_OR_RETURN(spec::RunSpec spec, spec::RunSpec::fromJson(json));
    if (ranks == 0 || ranks == spec.train.ranks) {
        return runs::MaybeSpecChange();
    }
    if (spec.command.empty() && !spec.model.hasTables()) {
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
    spec.train.ranks = ranks;
    runs::SpecChange change;
    change.resolvedSpec = dumpJson(spec.toJson());
    change.specHash = spec::specHash(spec);
    change.params["train.ranks"] = std::to_string(ranks);
    return runs::MaybeSpecChange(std::move(change));
}

std::string describeChange(const runs::RunRecord& run, int ranks) {
    const auto before = run.params.find("train.ranks");
    return strCat("goes on with ", ranks, ranks == 1 ? " rank" : " ranks",
                  before == run.params.end() ? "" : strCat("; before: ", before->second));
}

}  // namespace millrace::agent
