#include "proto/convert/inspect_convert.h"

#include "proto/convert/detail_convert.h"
#include "proto/convert/fields.h"
#include "proto/convert/submit_convert.h"

namespace millrace::convert {
namespace {

template <class Way>
void specSourceFields(Way, auto& value, auto& message) {
    MR_FIELD(text, spec_text);
    MR_FIELD(fileName, file_name);
    MR_FIELD(baseDir, base_dir);
    MR_LIST(sets, sets);
}

template <class Way>
void checkRequestFields(Way, auto& value, auto& message) {
    MR_VALUE(spec, spec);
    MR_LIST(variations, variations);
    MR_FIELD(allVariations, all_variations);
    MR_FIELD(withoutBase, without_base);
}

template <class Way>
void datasetRequestFields(Way, auto& value, auto& message) {
    MR_LIST(paths, paths);
    MR_FIELD(baseDir, base_dir);
    MR_FIELD(format, format);
    MR_VALUE(spec, spec);
    MR_FIELD(filesMax, files_max);
}

template <class Way>
void stepsRequestFields(Way, auto& value, auto& message) {
    MR_VALUE(spec, spec);
    MR_FIELD(variation, variation);
    MR_FIELD(rows, rows);
    MR_FIELD(split, split);
    MR_FIELD(firstRow, first_row);
}

template <class Way>
void previewRequestFields(Way, auto& value, auto& message) {
    MR_VALUE(spec, spec);
    MR_FIELD(variation, variation);
    MR_FIELD(seconds, seconds);
    MR_FIELD(threads, threads);
}

template <class Way>
void columnFactsFields(Way, auto& value, auto& message) {
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

template <class Way>
void checkedRunFields(Way, auto& value, auto& message) {
    MR_FIELD(variation, variation);
    MR_FIELD(resolvedSpec, resolved_spec);
    MR_FIELD(specHash, spec_hash);
    MR_FIELD(streamHash, stream_hash);
    MR_FIELD(rows, rows);
    MR_FIELD(files, files);
    MR_FIELD(splits, splits);
    MR_FIELD(planHash, plan_hash);
}

template <class Way>
void checkReplyFields(Way, auto& value, auto& message) {
    MR_VALUES(errors, errors);
    MR_VALUES(warnings, warnings);
    MR_VALUES(runs, runs);
    MR_VALUES(columns, columns);
    MR_VALUES(derived, derived);
}

template <class Way>
void rowGroupFactsFields(Way, auto& value, auto& message) {
    MR_FIELD(rows, rows);
    MR_FIELD(diskBytes, disk_bytes);
    MR_FIELD(decodedBytes, decoded_bytes);
}

template <class Way>
void datasetFileFields(Way, auto& value, auto& message) {
    MR_FIELD(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(rows, rows);
    MR_VALUES(rowGroups, row_groups);
}

template <class Way>
void leftOutColumnFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_FIELD(why, why);
}

template <class Way>
void datasetReplyFields(Way, auto& value, auto& message) {
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

template <class Way>
void sampleColumnFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_FIELD(type, type);
    MR_LIST(values, values);
    MR_LIST(isNull, is_null);
}

template <class Way>
void sampleStageFields(Way, auto& value, auto& message) {
    MR_FIELD(step, step);
    MR_FIELD(kind, kind);
    MR_FIELD(text, text);
    MR_FIELD(isEnabled, is_enabled);
    MR_VALUES(columns, columns);
    MR_LIST(rowIds, row_ids);
    MR_FIELD(rowsIn, rows_in);
    MR_FIELD(rowsOut, rows_out);
}

template <class Way>
void stepsReplyFields(Way, auto& value, auto& message) {
    MR_VALUES(errors, errors);
    MR_VALUES(stages, stages);
    MR_FIELD(splits, splits);
    MR_FIELD(splitRows, split_rows);
}

template <class Way>
void estimateFields(Way, auto& value, auto& message) {
    MR_FIELD(value, value);
    MR_OPTIONAL(low, low);
    MR_OPTIONAL(high, high);
    MR_FIELD(isExact, exact);
}

template <class Way>
void previewHeadFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_VALUE(labelled, labelled);
    MR_VALUE(positives, positives);
    MR_VALUE(positiveShare, positive_share);
}

template <class Way>
void previewReplyFields(Way, auto& value, auto& message) {
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

template <class Way>
void pairRequestFields(Way, auto& value, auto& message) {
    MR_LIST(runs, runs);
}

template <class Way>
void pairedHeadFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_FIELD(rows, rows);
    MR_FIELD(rowsOfOtherLabels, rows_of_other_labels);
    MR_FIELD(logLoss, log_loss);
    MR_FIELD(logLossOfFirst, log_loss_of_first);
    MR_FIELD(logLossDifference, log_loss_difference);
    MR_FIELD(share, share);
}

template <class Way>
void fileDifferenceFields(Way, auto& value, auto& message) {
    MR_FIELD(path, path);
    MR_FIELD(hashOfFirst, hash_of_first);
    MR_FIELD(bytesOfFirst, bytes_of_first);
    MR_FIELD(hash, hash);
    MR_FIELD(bytes, bytes);
}

template <class Way>
void runPairFields(Way, auto& value, auto& message) {
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

template <class Way>
void pairReplyFields(Way, auto& value, auto& message) {
    MR_VALUES(pairs, pairs);
}

}  // namespace

MR_BOTH_WAYS(SpecSource, SpecSource, specSourceFields)
MR_BOTH_WAYS(CheckRequest, CheckSpecRequest, checkRequestFields)
MR_BOTH_WAYS(DatasetRequest, DescribeDatasetRequest, datasetRequestFields)
MR_BOTH_WAYS(StepsRequest, SampleStepsRequest, stepsRequestFields)
MR_BOTH_WAYS(PreviewRequest, PreviewSpecRequest, previewRequestFields)
MR_READ(ColumnInfo, ColumnInfo, columnFactsFields)
MR_READ(CheckedRun, CheckedRun, checkedRunFields)
MR_READ(CheckReply, CheckSpecResponse, checkReplyFields)
MR_READ(RowGroupInfo, RowGroup, rowGroupFactsFields)
MR_READ(DatasetFile, DatasetFile, datasetFileFields)
MR_READ(LeftOutColumn, LeftOutColumn, leftOutColumnFields)
MR_READ(DatasetReply, DescribeDatasetResponse, datasetReplyFields)
MR_READ(SampleColumn, SampleColumn, sampleColumnFields)
MR_READ(SampleStage, SampleStage, sampleStageFields)
MR_READ(StepsReply, SampleStepsResponse, stepsReplyFields)
MR_READ(Estimate, Estimate, estimateFields)
MR_READ(PreviewHead, PreviewHead, previewHeadFields)
MR_READ(PreviewReply, PreviewSpecResponse, previewReplyFields)
MR_BOTH_WAYS(PairRequest, PairRunsRequest, pairRequestFields)
MR_READ(PairedHead, PairedHead, pairedHeadFields)
MR_READ(FileDifference, FileDifference, fileDifferenceFields)
MR_READ(RunPair, RunPair, runPairFields)
MR_READ(PairReply, PairRunsResponse, pairReplyFields)

}  // namespace millrace::convert
