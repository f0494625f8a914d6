#pragma once
// EmbeddedJob: one gang on this machine, tracked by its files and a control connection to each of
// its guardians. Private to engines.
//
// Threads: one at a time, as the engine ensures. Only starting workers waits for guardians; no
// other call does.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/engines/gang_files.h"
#include "backend/engines/guardian_link.h"

namespace millrace::engines {

/// The guardian program, millrace-exec, and a pipe whose closing ends the worker (-1: none).
struct GuardianProgram {
    std::string path;
    int lifeFd = -1;
};

class EmbeddedJob {
 public:
    /// Writes gang.json and the living mark; starts nothing yet.
    static Result<std::unique_ptr<EmbeddedJob>> create(const std::string& root,
                                                       const GangRecord& record, const Clock& clock,
                                                       const PidScope& here);
    /// Reads the gang's files. Returns kNotFound for an unknown gang. Returns kUnavailable while a
    /// worker from another machine or pid namespace has no exit record: it may be alive.
    static Result<std::unique_ptr<EmbeddedJob>> load(const std::string& root, std::string_view key,
                                                     const Clock& clock, const PidScope& here);

    const GangRecord& record() const { return record_; }
    const std::string& directory() const { return directory_; }

    /// Starts every worker without a guardian. If one cannot be started, ends the gang with
    /// Cause::kEngineFailed; a transient error is returned instead, and nothing is ended.
    Status startMissing(const Gang& gang, const GuardianProgram& program);
    /// Reads the guardians' files and answers, acts on them, and renews the orphan leases.
    void advance();
    /// Tells all workers to end; a later call with a shorter grace takes effect.
    void end(Cause cause, std::string reason, std::chrono::milliseconds grace);
    State state() const;

 private:
    struct Worker {
        WorkerRecord record;
        std::string directory;
        std::optional<GuardianRecord> guardian;
        std::optional<ExitRecord> exit;
        std::unique_ptr<GuardianLine> line;  // set once the guardian's record exists
        bool isToldToStop = false;           // on the current connection of `line`
        std::int64_t killAtMs = 0;    // steady; deadline of its guardian to end it; 0: not stopped
        std::int64_t answeredMs = 0;  // wall time of the guardian's last answer; 0: none yet
    };

    EmbeddedJob(std::string root, std::string directory, GangRecord record, const Clock& clock,
                PidScope here);
    Status startWorker(Worker& worker, const Group& group, int number,
                       const GuardianProgram& program);
    std::vector<std::string> environmentOf(const Worker& worker, const Group& group,
                                           int number) const;
    void refresh(Worker& worker);
    void drawConsequences();
    void replaceFailed();
    void listen(Worker& worker);
    void stop(Worker& worker, std::chrono::milliseconds grace);
    void press(Worker& worker);
    void renewLeases();
    void finish();
    Status checkReach() const;
    static bool isSilent(const Worker& worker);
    bool isLiving(const Worker& worker) const { return worker.guardian && !worker.exit; }
    bool isEnding() const { return record_.cause != Cause::kNone; }
    Status save();
    std::int64_t steadyMs() const { return clock_.steadyNs() / 1'000'000; }

    const std::string root_, directory_;
    GangRecord record_;
    const Clock& clock_;
    const PidScope here_;
    std::vector<Worker> workers_;
    std::chrono::milliseconds endGrace_{0};
    std::int64_t renewedMs_ = 0;  // steady; 0: never
    bool isSaved_ = true;         // the last save() worked
};

}  // namespace millrace::engines
