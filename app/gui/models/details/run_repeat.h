#pragma once
// Repeats runs exactly: the submits that create them again, and how the new runs would
// differ from the old ones.
//
// A repeat has the spec's text, --sets, variations, project, tags, and where a script of its own
// was started. The note is not repeated: it says what that run was. Threads: any; pure functions.
// Failure: what cannot be repeated says why in its verdict.
#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/inspection.h"
#include "backend/values/run_detail.h"
#include "backend/values/submit.h"

namespace millrace::gui {

using RunPtr = std::shared_ptr<const values::RunDetail>;

/// One submit for these runs; they have one variation each.
struct RunRepeat {
    std::vector<RunPtr> runs;
    values::SubmitRequest request;
    /// The check request that is sent to the daemon before the launch.
    values::CheckRequest question() const;
};

values::SubmitRequest repeatRequest(const values::RunDetail& run);
/// Runs of one submit that differ in nothing but their variation are one submit again: they nest as
/// they did. The others are a submit each.
std::vector<RunRepeat> repeatsOf(const std::vector<RunPtr>& runs);

struct RepeatVerdict {
    enum class Kind {
        kEqual,    ///< spec hash and data files are those of then
        kDiffers,  ///< it can be launched, and differs
        kBroken    ///< it cannot be launched
    } kind = Kind::kBroken;
    QString sentence;  ///< "spec hash equal (0ef2f231584b): repeats r-m6kqr"
};
/// `run` beside what the daemon says that its repeat would be.
RepeatVerdict verdictOn(const values::RunDetail& run, const Result<values::CheckReply>& reply);
/// The same of one run of its reply.
RepeatVerdict verdictOn(const values::RunDetail& run, const values::CheckedRun& now);

}  // namespace millrace::gui
