#pragma once
// The training loop of one rank: steps, evaluations, checkpoints, reports.
//
// Ranks agree on a stop through the reporter, so that all end after the same step. Only rank 0
// reports metrics, checkpoints and the last line. A step takes the micro-batches up to the feed's
// mark, the same in all ranks; steps count from 1. The checkpoint holds all that a resume needs and
// is cut at a step's end only. A stop drops a step whose data has not arrived, unless another rank
// has begun it. Threads: one owner. Failure: run() returns the error; earlier checkpoints stay.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/train/batch_source.h"
#include "backend/train/evaluator.h"
#include "backend/train/learner.h"
#include "backend/train/loop/checkpoint_routine.h"
#include "backend/train/loop/early_stop.h"
#include "backend/train/loop/label_watch.h"
#include "backend/train/loop/step_meter.h"
#include "backend/train/loop/step_rows.h"
#include "backend/train/ranks/group.h"
#include "backend/train/reporter.h"

namespace millrace::train {

struct TrainerOptions {
    LearnerOptions learner;
    std::int64_t microBatchesPerStep = 1;  ///< G / b, over all ranks
    std::int64_t epochs = 1;
    std::int64_t maxSteps = 0;  ///< 0: no limit
    bool hasEval = false;
    std::int64_t evalEverySteps = 0;  ///< 0: only at the end
    CheckpointOptions checkpoints;
    EvalOptions eval;
    EarlyStopOptions earlyStop;
    std::int64_t attempt = 0;
    FileName fileName;                  ///< name of a row's file
    Json identity = Json::object();     ///< run, spec_hash, stream_hash: kept in checkpoints
    Json module = Json::object();       ///< builds a module elsewhere: kept in checkpoints
    Json numericKeys = Json::object();  ///< a resume reports keys that differ
};

class Trainer {
 public:
    enum class Outcome { kDone, kStopped };

    /// `resume` and `initFrom` may be null. Group, reporter, clock and opener outlive the trainer.
    static Result<std::unique_ptr<Trainer>> make(TrainerOptions options, const Checkpoint* resume,
                                                 const InitFrom* initFrom, SourceOpener open,
                                                 Group& group, Reporter& reporter,
                                                 const Clock& clock);
    /// Trains to the end (returns once the last line is acknowledged) or to a stop request (writes
    /// a checkpoint and no last line).
    Result<Outcome> run();

    Learner& learner() { return *learner_; }
    std::int64_t step() const { return step_; }

 private:
    Trainer(TrainerOptions options, std::unique_ptr<Learner> learner, SourceOpener open,
            Group& group, Reporter& reporter, const Clock& clock);
    bool isFirst() const { return group_.rank() == 0; }
    Status resumeFrom(const Checkpoint& checkpoint);
    void compareKeys(const Checkpoint& checkpoint);

    enum class Taken { kStep, kNothing, kStopped };
    Result<Taken> takeStep();
    /// Accumulates micro-batches up to the mark that ends the step.
    Result<Taken> gather(LossSums& sums, std::int64_t& stepEnd);
    /// Reports `waiting` as the phase during a wait for an event, `working` during work on events.
    Result<FeedEvent> nextEvent(BatchSource& source, const char* waiting, const char* working);
    Status endStep(LossSums& sums);
    /// Collects from all ranks the rows whose loss is not finite, and returns the error.
    Status lossNotFinite();
    StepTimes stepTimes() const;
    Status afterStep();
    /// Whether this step should be evaluated and was not.
    bool isEvalMissing() const;
    bool isFinished() const;

    /// Leaves lastEvalStep_ unchanged if a stop request cuts it short.
    Status evaluate();
    /// All ranks learn from rank 0 whether this evaluation is the best, or patience is used up.
    Status judge(const rank::Values& figures);
    Status checkpoint(bool isNeeded);
    Json checkpointMeta(const std::string& state) const;
    Result<CheckpointOrder> checkpointOrder();
    rank::Done doneLine();
    Status progress(const char* phase, double waitingMs = 0);
    /// kInternal if ranks have arrived at different weights.
    Status compareWeights();

    TrainerOptions options_;
    std::unique_ptr<Learner> learner_;
    SourceOpener open_;
    Group& group_;
    Reporter& reporter_;
    const Clock& clock_;
    StepMeter meter_;
    PhaseClock phases_;
    std::unique_ptr<BatchSource> source_;
    std::int64_t step_ = 0, rows_ = 0;
    std::int64_t epoch_ = 0, next_ = 0;  // of the next micro-batch; next_ may be the epoch's total
    bool epochEnded_ = false;            // next_ is the total and its end was read
    bool streamEnded_ = false;
    std::int64_t epochBatches_ = 0;  // micro-batches of an epoch, 0 until one has ended
    std::int64_t stepsWithoutWeight_ = 0;
    std::int64_t sumNs_ = 0;  // time until all ranks had exchanged their sums
    LabelWatch labels_;
    StepRows stepRows_;
    std::string state_;  // at the last step's end; "" at the start
    EarlyStop early_;
    CheckpointRoutine checkpoints_;
    bool endsEarly_ = false;
    std::int64_t lastEvalStep_ = -1;
    std::string evalHash_, evalState_;  // of the last evaluation, as in its Result; "": none
    rank::Values lastValues_;           // loss and the last evaluation, for the done line
    std::vector<std::string> resumeChanges_;
};

}  // namespace millrace::train
