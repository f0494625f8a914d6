#include "proto/convert/detail_convert.h"

#include "proto/convert/fields.h"
#include "proto/convert/run_convert.h"

namespace millrace::convert {

MR_BOTH_WAYS(FileReceipt, FileReceipt) {
    MR_FIELD(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(footerHash, footer_hash);
    MR_FIELD(rows, rows);
}

MR_BOTH_WAYS(StepReason, StepReason) {
    MR_FIELD(name, name);
    MR_FIELD(rows, rows);
}

MR_BOTH_WAYS(StepReceipt, StepReceipt) {
    MR_FIELD(step, step);
    MR_FIELD(rowsIn, rows_in);
    MR_FIELD(rowsOut, rows_out);
    MR_VALUES(reasons, reasons);
}

MR_BOTH_WAYS(VocabularyReceipt, VocabularyReceipt) {
    MR_FIELD(feature, feature);
    MR_FIELD(ids, ids);
    MR_FIELD(unknown, unknown);
    MR_FIELD(evalIds, eval_ids);
    MR_FIELD(evalUnknown, eval_unknown);
}

MR_BOTH_WAYS(LabelReceipt, LabelReceipt) {
    MR_FIELD(head, head);
    MR_FIELD(nulls, nulls);
    MR_FIELD(nans, nans);
}

MR_BOTH_WAYS(FrameFlow, FrameFlow) {
    MR_FIELD(bytes, bytes);
    MR_FIELD(rawBytes, raw_bytes);
    MR_FIELD(bytesPerSecond, bytes_per_second);
    MR_FIELD(rawBytesPerSecond, raw_bytes_per_second);
}

MR_BOTH_WAYS(NodeTraffic, NodeTraffic) {
    MR_FIELD(node, node);
    MR_VALUE(sent, sent);
    MR_VALUE(received, received);
}

MR_BOTH_WAYS(LinkTraffic, LinkTraffic) {
    MR_FIELD(fromNode, from_node);
    MR_FIELD(fromWorker, from_worker);
    MR_FIELD(toNode, to_node);
    MR_FIELD(toWorker, to_worker);
    MR_FIELD(bytes, bytes);
    MR_FIELD(rawBytes, raw_bytes);
    MR_FIELD(awaitedSeconds, awaited_seconds);
    MR_FIELD(awaitedPercent, awaited_percent);
}

MR_BOTH_WAYS(FrameTraffic, FrameTraffic) {
    MR_VALUES(nodes, nodes);
    MR_FIELD(otherNodes, other_nodes);
    MR_FIELD(numLinks, links);
    MR_VALUES(slowest, slowest);
    MR_FIELD(seconds, seconds);
    MR_FIELD(directBytes, direct_bytes);
    MR_FIELD(carriedBytes, carried_bytes);
}

MR_BOTH_WAYS(DataWorkersReceipt, DataWorkersReceipt) {
    MR_FIELD(segments, segments);
    MR_FIELD(cpuSeconds, cpu_seconds);
    MR_FIELD(frameBytes, frame_bytes);
    MR_FIELD(networkBytes, network_bytes);
    MR_FIELD(directBytes, direct_bytes);
    MR_FIELD(carriedBytes, carried_bytes);
    MR_FIELD(linkMbPerSecond, link_mb_per_second);
    MR_LIST(columns, columns);
    MR_LIST(codecs, codecs);
    MR_VALUE(traffic, traffic);
}

MR_BOTH_WAYS(RoleCost, RoleCost) {
    MR_FIELD(role, role);
    MR_FIELD(cpuSeconds, cpu_seconds);
    MR_FIELD(peakMemoryBytes, peak_memory_bytes);
}

MR_BOTH_WAYS(Receipt, Receipt) {
    MR_VALUES(files, files);
    MR_FIELD(filesTotal, files_total);
    MR_VALUES(sideTables, side_tables);
    MR_VALUES(steps, steps);
    MR_VALUES(vocabularies, vocabularies);
    MR_VALUES(labels, labels);
    MR_VALUE(dataWorkers, data_workers);
    MR_VALUES(costs, costs);
    MR_FIELD(orderHash, order_hash);
    MR_FIELD(evalOrderHash, eval_order_hash);
    MR_FIELD(orderHashVersion, order_hash_version);
    MR_FIELD(planHash, plan_hash);
    MR_FIELD(rowsScanned, rows_scanned);
    MR_FIELD(rowsPruned, rows_pruned);
    MR_FIELD(rowsKept, rows_kept);
    MR_FIELD(rowsTrained, rows_trained);
    MR_FIELD(endsInsideSegment, ends_inside_segment);
    MR_FIELD(isOpenSegmentCounted, open_segment_counted);
    MR_FIELD(json, json);
}

MR_BOTH_WAYS(Checkpoint, Checkpoint) {
    MR_FIELD(step, step);
    MR_PATH(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(hash, hash);
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(attempt, attempt);
    MR_FIELD(epoch, epoch);
}

MR_BOTH_WAYS(ScriptInfo, ScriptInfo) {
    MR_VALUE(place, place);
    MR_PATH(path, path);
    MR_FIELD(sha256, sha256);
    MR_PATH(interpreter, interpreter);
    MR_FIELD(python, python);
    MR_PATH(diffPath, diff_path);
}

MR_BOTH_WAYS(WorkerInfo, WorkerInfo) {
    MR_FIELD(name, name);
    MR_FIELD(pid, pid);
    MR_FIELD(state, state);
    MR_FIELD(exitCode, exit_code);
    MR_FIELD(attempt, attempt);
    MR_FIELD(node, node);
}

MR_BOTH_WAYS(RunEvent, RunEvent) {
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(text, text);
}

MR_BOTH_WAYS(GitInfo, GitInfo) {
    MR_FIELD(commit, commit);
    MR_FIELD(branch, branch);
    MR_FIELD(isDirty, is_dirty);
    MR_FIELD(remote, remote);
    MR_FIELD(diff, diff);
}

MR_BOTH_WAYS(LaunchPlace, LaunchPlace) {
    MR_PATH(workingDirectory, working_directory);
    MR_MAP(environment, environment);
}

MR_BOTH_WAYS(RunDetail, GetRunResponse) {
    MR_VALUE(summary, summary);
    MR_FIELD(specText, spec_text);
    MR_FIELD(specFileName, spec_file_name);
    MR_FIELD(resolvedSpec, resolved_spec);
    MR_FIELD(planFiles, plan_files);
    MR_FIELD(planSplits, plan_splits);
    MR_FIELD(planRows, plan_rows);
    MR_FIELD(planBytes, plan_bytes);
    MR_MAYBE_VALUE(receipt, receipt);
    MR_FIELD(weightsHash, weights_hash);
    MR_MAP(params, params);
    MR_VALUES(checkpoints, checkpoints);
    MR_VALUE(git, git);
    MR_MAP(packages, packages);
    MR_VALUES(workers, workers);
    MR_VALUES(events, events);
    MR_PATH(directory, directory);
    MR_LIST(metricNames, metric_names);
    MR_FIELD(hardware, hardware);
    MR_LIST(sets, sets);
    MR_VALUE(script, script);
    MR_VALUE(traffic, traffic);
}

}  // namespace millrace::convert
