#include "proto/convert/inspect_convert.h"

#include "proto/convert/detail_convert.h"
#include "proto/convert/fields.h"
#include "proto/convert/submit_convert.h"

namespace millrace::convert {

MR_BOTH_WAYS(SpecSource, SpecSource) {
    MR_FIELD(text, spec_text);
    MR_FIELD(fileName, file_name);
    MR_FIELD(baseDir, base_dir);
    MR_LIST(sets, sets);
}

MR_READ(ColumnInfo, ColumnInfo) {
    MR_FIELD(name, name);
    MR_FIELD(type, type);
    MR_FIELD(isNullable, is_nullable);
    MR_OPTIONAL(nulls, nulls);
    MR_OPTIONAL(diskBytes, disk_bytes);
    MR_OPTIONAL(decodedBytes, decoded_bytes);
    MR_FIELD(min, min);
    MR_FIELD(max, max);
    MR_FIELD(encoding, encoding);
    MR_FIELD(codec, codec);
}

MR_READ(CheckedRun, CheckedRun) {
    MR_FIELD(variation, variation);
    MR_FIELD(resolvedSpec, resolved_spec);
    MR_FIELD(specHash, spec_hash);
    MR_FIELD(streamHash, stream_hash);
    MR_FIELD(rows, rows);
    MR_FIELD(files, files);
    MR_FIELD(splits, splits);
    MR_FIELD(planHash, plan_hash);
}

MR_READ(RowGroupInfo, RowGroup) {
    MR_FIELD(rows, rows);
    MR_FIELD(diskBytes, disk_bytes);
    MR_FIELD(decodedBytes, decoded_bytes);
}

MR_READ(DatasetFile, DatasetFile) {
    MR_FIELD(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(rows, rows);
    MR_VALUES(rowGroups, row_groups);
}

MR_READ(LeftOutColumn, LeftOutColumn) {
    MR_FIELD(name, name);
    MR_FIELD(why, why);
}

MR_READ(SampleColumn, SampleColumn) {
    MR_FIELD(name, name);
    MR_FIELD(type, type);
    MR_LIST(values, values);
    MR_LIST(isNull, is_null);
}

MR_READ(SampleStage, SampleStage) {
    MR_FIELD(step, step);
    MR_FIELD(kind, kind);
    MR_FIELD(text, text);
    MR_FIELD(isEnabled, is_enabled);
    MR_VALUES(columns, columns);
    MR_LIST(rowIds, row_ids);
    MR_FIELD(rowsIn, rows_in);
    MR_FIELD(rowsOut, rows_out);
}

MR_READ(Estimate, Estimate) {
    MR_FIELD(value, value);
    MR_OPTIONAL(low, low);
    MR_OPTIONAL(high, high);
    MR_FIELD(isExact, exact);
}

MR_READ(PreviewHead, PreviewHead) {
    MR_FIELD(name, name);
    MR_VALUE(labelled, labelled);
    MR_VALUE(positives, positives);
    MR_VALUE(positiveShare, positive_share);
}

MR_READ(PairedHead, PairedHead) {
    MR_FIELD(name, name);
    MR_FIELD(rows, rows);
    MR_FIELD(rowsOfOtherLabels, rows_of_other_labels);
    MR_FIELD(logLoss, log_loss);
    MR_FIELD(logLossOfFirst, log_loss_of_first);
    MR_FIELD(logLossDifference, log_loss_difference);
    MR_FIELD(share, share);
}

MR_READ(FileDifference, FileDifference) {
    MR_FIELD(path, path);
    MR_FIELD(hashOfFirst, hash_of_first);
    MR_FIELD(bytesOfFirst, bytes_of_first);
    MR_FIELD(hash, hash);
    MR_FIELD(bytes, bytes);
}

MR_READ(RunPair, RunPair) {
    MR_FIELD(run, run);
    MR_FIELD(hasScores, has_scores);
    MR_FIELD(problem, problem);
    MR_FIELD(rows, rows);
    MR_FIELD(share, share);
    MR_FIELD(isSample, is_sample);
    MR_VALUES(heads, heads);
    MR_LIST(without, without);
    MR_FIELD(knowsFiles, knows_files);
    MR_FIELD(evaluatedOtherContent, evaluated_other_content);
    MR_FIELD(trainedOnOtherFiles, trained_on_other_files);
    MR_VALUES(files, files);
    MR_FIELD(filesTotal, files_total);
}

MR_BOTH_WAYS(CheckRequest, CheckSpecRequest) {
    MR_VALUE(spec, spec);
    MR_LIST(variations, variations);
    MR_FIELD(allVariations, all_variations);
    MR_FIELD(withoutBase, without_base);
}

MR_BOTH_WAYS(DatasetRequest, DescribeDatasetRequest) {
    MR_LIST(paths, paths);
    MR_FIELD(baseDir, base_dir);
    MR_FIELD(format, format);
    MR_VALUE(spec, spec);
    MR_FIELD(filesMax, files_max);
}

MR_BOTH_WAYS(StepsRequest, SampleStepsRequest) {
    MR_VALUE(spec, spec);
    MR_FIELD(variation, variation);
    MR_FIELD(rows, rows);
    MR_FIELD(split, split);
    MR_FIELD(firstRow, first_row);
}

MR_BOTH_WAYS(PreviewRequest, PreviewSpecRequest) {
    MR_VALUE(spec, spec);
    MR_FIELD(variation, variation);
    MR_FIELD(seconds, seconds);
    MR_FIELD(threads, threads);
}

MR_READ(CheckReply, CheckSpecResponse) {
    MR_VALUES(errors, errors);
    MR_VALUES(warnings, warnings);
    MR_VALUES(runs, runs);
    MR_VALUES(columns, columns);
    MR_VALUES(derived, derived);
}

MR_READ(DatasetReply, DescribeDatasetResponse) {
    MR_VALUES(errors, errors);
    MR_FIELD(format, format);
    MR_VALUES(files, files);
    MR_FIELD(filesTotal, files_total);
    MR_FIELD(rows, rows);
    MR_FIELD(rowGroups, row_groups);
    MR_FIELD(bytes, bytes);
    MR_OPTIONAL(decodedBytes, decoded_bytes);
    MR_VALUES(columns, columns);
    MR_VALUES(leftOut, left_out);
}

MR_READ(StepsReply, SampleStepsResponse) {
    MR_VALUES(errors, errors);
    MR_VALUES(stages, stages);
    MR_FIELD(splits, splits);
    MR_FIELD(splitRows, split_rows);
}

MR_READ(PreviewReply, PreviewSpecResponse) {
    MR_VALUES(errors, errors);
    MR_FIELD(splits, splits);
    MR_FIELD(splitsSampled, splits_sampled);
    MR_FIELD(rows, rows);
    MR_FIELD(threads, threads);
    MR_VALUE(rowsKept, rows_kept);
    MR_VALUE(keepShare, keep_share);
    MR_VALUE(epochSeconds, epoch_seconds);
    MR_VALUES(heads, heads);
}

MR_BOTH_WAYS(PairRequest, PairRunsRequest) {
    MR_LIST(runs, runs);
}

MR_READ(PairReply, PairRunsResponse) {
    MR_VALUES(pairs, pairs);
}

}  // namespace millrace::convert
