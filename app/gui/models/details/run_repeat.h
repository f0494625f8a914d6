#pragma once
// Repeats runs exactly: the submits that create them again, and how the new runs would differ from
// the old ones.
//
// A repeat keeps the spec's text, --sets, variations, project, tags, and the directory in which a
// script of its own was started. It drops the note, which describes the old run. Threads: any; pure
// functions. Failure: the verdict explains why a run cannot be repeated.
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
/// Groups runs of one submit that differ only in their variation into one submit, nested as before.
/// Every other run is a submit of its own.
std::vector<RunRepeat> repeatsOf(const std::vector<RunPtr>& runs);

struct RepeatVerdict {
    enum class Kind {
        kEqual,    ///< spec hash and data files are unchanged
        kDiffers,  ///< it can be launched, but differs
        kBroken    ///< it cannot be launched
    } kind = Kind::kBroken;
    QString sentence;  ///< "spec hash equal (0ef2f231584b): repeats r-m6kqr"
};
/// Compares `run` with the daemon's answer about its repeat.
RepeatVerdict verdictOn(const values::RunDetail& run, const Result<values::CheckReply>& reply);
/// The same for one run of the answer.
RepeatVerdict verdictOn(const values::RunDetail& run, const values::CheckedRun& now);

}  // namespace millrace::gui
