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

}  // namespace

v1::SpecSource toProto(const values::SpecSource& value) {
    return written<values::SpecSource, v1::SpecSource>(value, specSourceFields);
}
values::SpecSource fromProto(const v1::SpecSource& message) {
    return read<values::SpecSource, v1::SpecSource>(message, specSourceFields);
}

v1::CheckSpecRequest toProto(const values::CheckRequest& value) {
    return written<values::CheckRequest, v1::CheckSpecRequest>(value, checkRequestFields);
}
values::CheckRequest fromProto(const v1::CheckSpecRequest& message) {
    return read<values::CheckRequest, v1::CheckSpecRequest>(message, checkRequestFields);
}

v1::DescribeDatasetRequest toProto(const values::DatasetRequest& value) {
    return written<values::DatasetRequest, v1::DescribeDatasetRequest>(value, datasetRequestFields);
}
values::DatasetRequest fromProto(const v1::DescribeDatasetRequest& message) {
    return read<values::DatasetRequest, v1::DescribeDatasetRequest>(message, datasetRequestFields);
}

v1::SampleStepsRequest toProto(const values::StepsRequest& value) {
    return written<values::StepsRequest, v1::SampleStepsRequest>(value, stepsRequestFields);
}
values::StepsRequest fromProto(const v1::SampleStepsRequest& message) {
    return read<values::StepsRequest, v1::SampleStepsRequest>(message, stepsRequestFields);
}

v1::PreviewSpecRequest toProto(const values::PreviewRequest& value) {
    return written<values::PreviewRequest, v1::PreviewSpecRequest>(value, previewRequestFields);
}
values::PreviewRequest fromProto(const v1::PreviewSpecRequest& message) {
    return read<values::PreviewRequest, v1::PreviewSpecRequest>(message, previewRequestFields);
}

values::ColumnFacts fromProto(const v1::ColumnFacts& message) {
    return read<values::ColumnFacts, v1::ColumnFacts>(message, columnFactsFields);
}

values::CheckedRun fromProto(const v1::CheckedRun& message) {
    return read<values::CheckedRun, v1::CheckedRun>(message, checkedRunFields);
}

values::CheckReply fromProto(const v1::CheckSpecResponse& message) {
    return read<values::CheckReply, v1::CheckSpecResponse>(message, checkReplyFields);
}

values::RowGroupFacts fromProto(const v1::RowGroup& message) {
    return read<values::RowGroupFacts, v1::RowGroup>(message, rowGroupFactsFields);
}

values::DatasetFile fromProto(const v1::DatasetFile& message) {
    return read<values::DatasetFile, v1::DatasetFile>(message, datasetFileFields);
}

values::LeftOutColumn fromProto(const v1::LeftOutColumn& message) {
    return read<values::LeftOutColumn, v1::LeftOutColumn>(message, leftOutColumnFields);
}

values::DatasetReply fromProto(const v1::DescribeDatasetResponse& message) {
    return read<values::DatasetReply, v1::DescribeDatasetResponse>(message, datasetReplyFields);
}

values::SampleColumn fromProto(const v1::SampleColumn& message) {
    return read<values::SampleColumn, v1::SampleColumn>(message, sampleColumnFields);
}

values::SampleStage fromProto(const v1::SampleStage& message) {
    return read<values::SampleStage, v1::SampleStage>(message, sampleStageFields);
}

values::StepsReply fromProto(const v1::SampleStepsResponse& message) {
    return read<values::StepsReply, v1::SampleStepsResponse>(message, stepsReplyFields);
}

values::Estimate fromProto(const v1::Estimate& message) {
    return read<values::Estimate, v1::Estimate>(message, estimateFields);
}

values::PreviewHead fromProto(const v1::PreviewHead& message) {
    return read<values::PreviewHead, v1::PreviewHead>(message, previewHeadFields);
}

values::PreviewReply fromProto(const v1::PreviewSpecResponse& message) {
    return read<values::PreviewReply, v1::PreviewSpecResponse>(message, previewReplyFields);
}

}  // namespace millrace::convert
