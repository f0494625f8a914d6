#include "proto/convert/submit_convert.h"

#include "proto/convert/detail_convert.h"
#include "proto/convert/fields.h"
#include "proto/convert/run_convert.h"

namespace millrace::convert {
MR_BOTH_WAYS(SpecError, SpecError) {
    MR_FIELD(message, message);
    MR_FIELD(line, line);
    MR_FIELD(column, column);
    MR_FIELD(code, code);
    MR_FIELD(file, file);
    MR_FIELD(path, path);
}

MR_BOTH_WAYS(SubmitRequest, SubmitRequest) {
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
    MR_VALUE(place, place);
}

MR_BOTH_WAYS(SubmitReply, SubmitResponse) {
    MR_VALUES(runs, runs);
    MR_VALUES(errors, errors);
    MR_VALUES(warnings, warnings);
    MR_FIELD(wasKnown, was_known);
}

}  // namespace millrace::convert
