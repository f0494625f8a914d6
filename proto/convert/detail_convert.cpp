#include "proto/convert/detail_convert.h"

#include "proto/convert/fields.h"
#include "proto/convert/run_convert.h"

namespace millrace::convert {
namespace {

template <class Way>
void fileReceiptFields(Way, auto& value, auto& message) {
    MR_FIELD(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(footerHash, footer_hash);
    MR_FIELD(rows, rows);
}

template <class Way>
void stepReasonFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_FIELD(rows, rows);
}

template <class Way>
void stepReceiptFields(Way, auto& value, auto& message) {
    MR_FIELD(step, step);
    MR_FIELD(rowsIn, rows_in);
    MR_FIELD(rowsOut, rows_out);
    MR_VALUES(reasons, reasons);
}

template <class Way>
void vocabularyReceiptFields(Way, auto& value, auto& message) {
    MR_FIELD(feature, feature);
    MR_FIELD(ids, ids);
    MR_FIELD(unknown, unknown);
}

template <class Way>
void receiptFields(Way, auto& value, auto& message) {
    MR_VALUES(files, files);
    MR_FIELD(filesTotal, files_total);
    MR_VALUES(sideTables, side_tables);
    MR_VALUES(steps, steps);
    MR_VALUES(vocabularies, vocabularies);
    MR_FIELD(orderHash, order_hash);
    MR_FIELD(evalOrderHash, eval_order_hash);
    MR_FIELD(planHash, plan_hash);
    MR_FIELD(rowsScanned, rows_scanned);
    MR_FIELD(rowsPruned, rows_pruned);
    MR_FIELD(rowsKept, rows_kept);
    MR_FIELD(rowsTrained, rows_trained);
    MR_FIELD(json, json);
}

template <class Way>
void checkpointFields(Way, auto& value, auto& message) {
    MR_FIELD(step, step);
    MR_PATH(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(hash, hash);
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(attempt, attempt);
    MR_FIELD(epoch, epoch);
}

template <class Way>
void gitFactsFields(Way, auto& value, auto& message) {
    MR_FIELD(commit, commit);
    MR_FIELD(branch, branch);
    MR_FIELD(isDirty, is_dirty);
    MR_FIELD(remote, remote);
}

template <class Way>
void workerInfoFields(Way, auto& value, auto& message) {
    MR_FIELD(name, name);
    MR_FIELD(pid, pid);
    MR_FIELD(state, state);
    MR_FIELD(exitCode, exit_code);
    MR_FIELD(attempt, attempt);
}

template <class Way>
void runEventFields(Way, auto& value, auto& message) {
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(text, text);
}

template <class Way>
void runDetailFields(Way, auto& value, auto& message) {
    MR_VALUE(summary, summary);
    MR_FIELD(specText, spec_text);
    MR_FIELD(specFileName, spec_file_name);
    MR_FIELD(resolvedSpec, resolved_spec);
    MR_FIELD(planFiles, plan_files);
    MR_FIELD(planSplits, plan_splits);
    MR_FIELD(planRows, plan_rows);
    MR_FIELD(planBytes, plan_bytes);
    if constexpr (Way::isWriting) {
        if (value.receipt.has_value()) {
            *message.mutable_receipt() = toProto(*value.receipt);
        }
    } else if (message.has_receipt()) {
        value.receipt = fromProto(message.receipt());
    }
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
}

}  // namespace

v1::FileReceipt toProto(const values::FileReceipt& value) {
    return written<values::FileReceipt, v1::FileReceipt>(value, fileReceiptFields);
}
values::FileReceipt fromProto(const v1::FileReceipt& message) {
    return read<values::FileReceipt, v1::FileReceipt>(message, fileReceiptFields);
}

v1::StepReason toProto(const values::StepReason& value) {
    return written<values::StepReason, v1::StepReason>(value, stepReasonFields);
}
values::StepReason fromProto(const v1::StepReason& message) {
    return read<values::StepReason, v1::StepReason>(message, stepReasonFields);
}

v1::StepReceipt toProto(const values::StepReceipt& value) {
    return written<values::StepReceipt, v1::StepReceipt>(value, stepReceiptFields);
}
values::StepReceipt fromProto(const v1::StepReceipt& message) {
    return read<values::StepReceipt, v1::StepReceipt>(message, stepReceiptFields);
}

v1::VocabularyReceipt toProto(const values::VocabularyReceipt& value) {
    return written<values::VocabularyReceipt, v1::VocabularyReceipt>(value,
                                                                     vocabularyReceiptFields);
}
values::VocabularyReceipt fromProto(const v1::VocabularyReceipt& message) {
    return read<values::VocabularyReceipt, v1::VocabularyReceipt>(message, vocabularyReceiptFields);
}

v1::Receipt toProto(const values::Receipt& value) {
    return written<values::Receipt, v1::Receipt>(value, receiptFields);
}
values::Receipt fromProto(const v1::Receipt& message) {
    return read<values::Receipt, v1::Receipt>(message, receiptFields);
}

v1::Checkpoint toProto(const values::Checkpoint& value) {
    return written<values::Checkpoint, v1::Checkpoint>(value, checkpointFields);
}
values::Checkpoint fromProto(const v1::Checkpoint& message) {
    return read<values::Checkpoint, v1::Checkpoint>(message, checkpointFields);
}

v1::GitFacts toProto(const values::GitFacts& value) {
    return written<values::GitFacts, v1::GitFacts>(value, gitFactsFields);
}
values::GitFacts fromProto(const v1::GitFacts& message) {
    return read<values::GitFacts, v1::GitFacts>(message, gitFactsFields);
}

v1::WorkerInfo toProto(const values::WorkerInfo& value) {
    return written<values::WorkerInfo, v1::WorkerInfo>(value, workerInfoFields);
}
values::WorkerInfo fromProto(const v1::WorkerInfo& message) {
    return read<values::WorkerInfo, v1::WorkerInfo>(message, workerInfoFields);
}

v1::RunEvent toProto(const values::RunEvent& value) {
    return written<values::RunEvent, v1::RunEvent>(value, runEventFields);
}
values::RunEvent fromProto(const v1::RunEvent& message) {
    return read<values::RunEvent, v1::RunEvent>(message, runEventFields);
}

v1::GetRunResponse toProto(const values::RunDetail& value) {
    return written<values::RunDetail, v1::GetRunResponse>(value, runDetailFields);
}
values::RunDetail fromProto(const v1::GetRunResponse& message) {
    return read<values::RunDetail, v1::GetRunResponse>(message, runDetailFields);
}

}  // namespace millrace::convert
