#include "proto/convert/run_convert.h"

#include "proto/convert/enum_convert.h"
#include "proto/convert/fields.h"

namespace millrace::convert {
namespace {

// The facts of a run that never change, except note and tags.
template <class Way>
void nameFields(Way, auto& value, auto& message) {
    MR_FIELD(id, id);
    MR_FIELD(uid, uid);
    MR_FIELD(name, name);
    MR_FIELD(variation, variation);
    MR_FIELD(variationOf, variation_of);
    MR_FIELD(group, group);
    MR_FIELD(submitKey, submit_key);
    MR_FIELD(owner, owner);
    MR_FIELD(project, project);
    MR_FIELD(note, note);
    MR_MAP(tags, tags);
    MR_FIELD(specHash, spec_hash);
    MR_FIELD(streamHash, stream_hash);
    MR_FIELD(planHash, plan_hash);
    MR_FIELD(model, model);
    MR_FIELD(dataset, dataset);
    MR_FIELD(host, host);
    MR_FIELD(gitCommit, git_commit);
    MR_FIELD(isGitDirty, is_git_dirty);
    MR_FIELD(seed, seed);
    MR_MAP(params, params);
}

}  // namespace

MR_BOTH_WAYS(PhaseTimes, PhaseTimes) {
    MR_FIELD(busyMs, busy_ms);
    MR_FIELD(stallMs, stall_ms);
    MR_FIELD(evaluateMs, evaluate_ms);
    MR_FIELD(checkpointMs, checkpoint_ms);
    MR_FIELD(startMs, start_ms);
    MR_FIELD(endingMs, ending_ms);
}

MR_BOTH_WAYS(Progress, Progress) {
    MR_FIELD(step, step);
    MR_FIELD(stepsTotal, steps_total);
    MR_FIELD(epoch, epoch);
    MR_FIELD(epochs, epochs);
    MR_FIELD(rows, rows);
    MR_ENUM(phase, phase);
    MR_MAYBE_VALUE(times, times);
    MR_FIELD(timeMs, time_ms);
    MR_OPTIONAL(stallPercentNow, stall_percent_now);
    MR_OPTIONAL(stepsPerSecond, steps_per_second);
}

MR_BOTH_WAYS(RankNow, RankNow) {
    MR_FIELD(rank, rank);
    MR_FIELD(state, state);
    MR_FIELD(trouble, trouble);
    MR_FIELD(standsSinceMs, stands_since_ms);
    MR_ENUM(phase, phase);
    MR_FIELD(step, step);
    MR_MAYBE_VALUE(times, times);
    MR_OPTIONAL(stallPercentNow, stall_percent_now);
    MR_FIELD(timeMs, time_ms);
    MR_OPTIONAL(stepMs, step_ms);
    MR_OPTIONAL(stepStallPercent, step_stall_percent);
    MR_FIELD(steppedMs, stepped_ms);
}

MR_BOTH_WAYS(RunFigure, Metric) {
    MR_FIELD(name, name);
    MR_FIELD(value, value);
    MR_FIELD(step, step);
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(epoch, epoch);
    MR_FIELD(rows, rows);
    MR_FIELD(attempt, attempt);
}

MR_BOTH_WAYS(HandOver, HandOver) {
    MR_FIELD(step, step);
    MR_FIELD(bytes, bytes);
    MR_FIELD(sent, sent);
    MR_FIELD(numWaiting, num_waiting);
    MR_FIELD(trouble, trouble);
    MR_FIELD(areScores, are_scores);
}

MR_BOTH_WAYS(RunSummary, RunSummary) {
    nameFields(way, value, message);
    MR_ENUM(state, state);
    MR_FIELD(queuedReason, queued_reason);
    MR_FIELD(exitReason, exit_reason);
    MR_FIELD(trouble, trouble);
    MR_FIELD(standsSinceMs, stands_since_ms);
    MR_FIELD(attempt, attempt);
    MR_FIELD(restarts, restarts);
    MR_FIELD(createdMs, created_ms);
    MR_FIELD(startedMs, started_ms);
    MR_FIELD(endedMs, ended_ms);
    MR_FIELD(deletedMs, deleted_ms);
    MR_FIELD(purgedMs, purged_ms);
    MR_VALUE(progress, progress);
    MR_VALUES(latestMetrics, latest_metrics);
    MR_VALUES(bestMetrics, best_metrics);
    MR_OPTIONAL(meanRate, mean_samples_per_second);
    MR_FIELD(revision, revision);
    MR_FIELD(rowsRead, rows_read);
    MR_FIELD(rowsKept, rows_kept);
    MR_FIELD(rowsTrained, rows_trained);
    MR_FIELD(orderHash, order_hash);
    MR_FIELD(evalOrderHash, eval_order_hash);
    MR_FIELD(orderHashVersion, order_hash_version);
    MR_VALUES(ranks, ranks);
    MR_MAYBE_VALUE(handOver, hand_over);
}

MR_BOTH_WAYS(RunUpdate, RunUpdate) {
    MR_VALUE(run, run);
    MR_FIELD(isRemoved, is_removed);
    MR_FIELD(isSnapshotEnd, is_snapshot_end);
}

MR_BOTH_WAYS(ListRequest, ListRunsRequest) {
    MR_FIELD(filter, filter);
    MR_LIST(orderBy, order_by);
    MR_FIELD(pageSize, page_size);
    MR_FIELD(pageToken, page_token);
    MR_ENUM(view, view);
    MR_FIELD(changesSince, changes_since);
    MR_FIELD(withParams, with_params);
    MR_FIELD(withSystemMetrics, with_system_metrics);
}

MR_BOTH_WAYS(RunPage, ListRunsResponse) {
    MR_VALUES(runs, runs);
    MR_FIELD(nextPageToken, next_page_token);
    MR_FIELD(revision, revision);
    MR_FIELD(total, total);
}

MR_BOTH_WAYS(RemovedRun, DeleteRunResponse) {
    MR_VALUE(run, run);
    MR_FIELD(freedBytes, freed_bytes);
    MR_FIELD(heldBytes, held_bytes);
    MR_FIELD(keepHours, keep_hours);
}

MR_BOTH_WAYS(FilterCheck, ParseFilterResponse) {
    MR_FIELD(isOk, ok);
    MR_FIELD(message, message);
    MR_FIELD(column, column);
}

}  // namespace millrace::convert
