#include "proto/convert/submit_convert.h"

#include "proto/convert/detail_convert.h"
#include "proto/convert/fields.h"
#include "proto/convert/run_convert.h"

namespace millrace::convert {
namespace {

template <class Way>
void specErrorFields(Way, auto& value, auto& message) {
    MR_FIELD(message, message);
    MR_FIELD(line, line);
    MR_FIELD(column, column);
    MR_FIELD(code, code);
    MR_FIELD(file, file);
    MR_FIELD(path, path);
}

template <class Way>
void submitRequestFields(Way, auto& value, auto& message) {
    MR_FIELD(specText, spec_text);
    MR_FIELD(fileName, file_name);
    MR_FIELD(baseDir, base_dir);
    MR_LIST(variations, variations);
    MR_FIELD(allVariations, all_variations);
    MR_FIELD(withoutBase, without_base);
    MR_LIST(sets, sets);
    MR_FIELD(key, key);
    MR_FIELD(owner, owner);
    MR_FIELD(project, project);
    MR_FIELD(note, note);
    MR_MAP(tags, tags);
    MR_MAP(packages, packages);
    MR_VALUE(git, git);
}

template <class Way>
void submitReplyFields(Way, auto& value, auto& message) {
    MR_VALUES(runs, runs);
    MR_VALUES(errors, errors);
    MR_VALUES(warnings, warnings);
    MR_FIELD(wasKnown, was_known);
}

}  // namespace

v1::SpecError toProto(const values::SpecError& value) {
    return written<values::SpecError, v1::SpecError>(value, specErrorFields);
}
values::SpecError fromProto(const v1::SpecError& message) {
    return read<values::SpecError, v1::SpecError>(message, specErrorFields);
}

v1::SubmitRequest toProto(const values::SubmitRequest& value) {
    return written<values::SubmitRequest, v1::SubmitRequest>(value, submitRequestFields);
}
values::SubmitRequest fromProto(const v1::SubmitRequest& message) {
    return read<values::SubmitRequest, v1::SubmitRequest>(message, submitRequestFields);
}

v1::SubmitResponse toProto(const values::SubmitReply& value) {
    return written<values::SubmitReply, v1::SubmitResponse>(value, submitReplyFields);
}
values::SubmitReply fromProto(const v1::SubmitResponse& message) {
    return read<values::SubmitReply, v1::SubmitResponse>(message, submitReplyFields);
}

}  // namespace millrace::convert
