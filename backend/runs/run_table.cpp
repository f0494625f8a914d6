#include "backend/runs/run_table.h"

#include "backend/core/hash.h"
#include "backend/core/ids.h"
#include "backend/runs/line_writer.h"
#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/params.h"
#include "backend/runs/run_rows.h"
#include "backend/text/json.h"

namespace millrace::runs {
namespace {

constexpr int kShortIdTries = 8;

Status writePairs(Database& db, std::int64_t no, std::string_view table,
                  const std::map<std::string, std::string>& pairs) {
    ASSIGN_OR_RETURN(Statement insert,
                     db.prepare(strCat("INSERT OR REPLACE INTO ", table, " VALUES(?, ?, ?)")));
    for (const auto& [key, value] : pairs) {
        RETURN_IF_ERROR(insert.bind(no).bind(key).bind(value).run());
    }
    return okStatus();
}

Result<std::string> freshId(Database& db) {
    for (int tries = 0;; ++tries) {
        std::string id = newRunId(tries < kShortIdTries ? 5 : 8);
        if (runNo(db, id).status().code() == absl::StatusCode::kNotFound) {
            return id;
        }
    }
}

// Hashes of the plans written in a transaction, by their text: each once, however many runs have
// it.
using WrittenPlans = std::map<std::shared_ptr<const std::string>, std::string>;

// A plan that many runs share (a submit with variations) is stored once; the run's own document is
// its hash.
Status writePlan(Database& db, std::int64_t no, const RunRecord& run, WrittenPlans& written) {
    if (run.plan == nullptr || run.plan->empty()) {
        return okStatus();
    }
    std::string& hash = written[run.plan];
    if (hash.empty()) {
        hash = hashHex(*run.plan);
        RETURN_IF_ERROR(db.run("INSERT OR IGNORE INTO shared_text VALUES(?, ?)", hash, *run.plan));
    }
    return writeDocument(db, no, "plan@", hash);
}

// The change number is the place in the queue: later runs wait behind.
Status touchAndQueue(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(touchRun(db, no));
    return db.run("UPDATE run SET queue_no = change WHERE no = ?", no);
}

Status insertAll(Database& db, const RunRecord& run, WrittenPlans& plans) {
    RETURN_IF_ERROR(insertRun(db, run));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, run.id));
    RETURN_IF_ERROR(writeDocument(db, no, "spec", run.specText));
    RETURN_IF_ERROR(writeDocument(db, no, "resolved", run.resolvedSpec));
    RETURN_IF_ERROR(writePlan(db, no, run, plans));
    RETURN_IF_ERROR(writeDocument(db, no, "plan_facts", run.planFacts));
    RETURN_IF_ERROR(writeDocument(db, no, "hardware", run.hardware));
    RETURN_IF_ERROR(writeDocument(db, no, "packages", dumpJson(Json(run.packages))));
    RETURN_IF_ERROR(writeDocument(db, no, "launch", run.launch));
    RETURN_IF_ERROR(writeDocument(db, no, "submitted", run.submitted));
    RETURN_IF_ERROR(writePairs(db, no, "run_tag", run.tags));
    RETURN_IF_ERROR(writePairs(db, no, "run_param", run.params));
    return touchAndQueue(db, no);
}

Result<std::map<std::string, std::string>> readPairs(Database& db, std::int64_t no,
                                                     std::string_view table) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare(strCat("SELECT key, value FROM ", table, " WHERE run_no = ?"), no));
    std::map<std::string, std::string> pairs;
    RETURN_IF_ERROR(
        query.forEach([&](const Statement& row) { pairs[row.textAt(0)] = row.textAt(1); }));
    return pairs;
}

Status readDocuments(Database& db, std::int64_t no, values::RunDocuments& run) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT kind, text FROM run_document WHERE run_no "
                                                 "= ? AND kind NOT IN ('plan@', 'receipt')",
                                                 no));
    std::map<std::string, std::string> texts;
    RETURN_IF_ERROR(
        query.forEach([&](const Statement& row) { texts[row.textAt(0)] = row.textAt(1); }));
    run.specText = std::move(texts["spec"]);
    run.resolvedSpec = std::move(texts["resolved"]);
    run.planFacts = std::move(texts["plan_facts"]);
    run.hardware = std::move(texts["hardware"]);
    run.launch = std::move(texts["launch"]);
    run.submitted = std::move(texts["submitted"]);
    ASSIGN_OR_RETURN(const Json packages, parseJson(texts["packages"], "packages"));
    for (const auto& [name, version] : packages.items()) {
        run.packages[name] = version.is_string() ? version.get<std::string>() : "";
    }
    return okStatus();
}

Status readLatest(Database& db, std::int64_t no, values::RunSummary& run) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare(strCat("SELECT ", kMetricColumns, " FROM latest_metric WHERE run_no = ?"), no));
    return query.forEach([&](const Statement& row) { readMetric(row, 0, run); });
}

Result<RunRecord> readWhole(Database& db, std::string_view id) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare(strCat("SELECT ", runColumns(), ", ", restColumns(),
                                       " FROM run r WHERE r.id = ?"),
                                id));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    if (!isThere) {
        return notFound("run '", id, "': not known");
    }
    std::int64_t no = 0;
    RunRecord run;
    static_cast<values::RunSummary&>(run) = readRun(query, no);
    readRest(query, run);
    RETURN_IF_ERROR(readDocuments(db, no, run));
    ASSIGN_OR_RETURN(run.tags, readPairs(db, no, "run_tag"));
    ASSIGN_OR_RETURN(run.params, readPairs(db, no, "run_param"));
    RETURN_IF_ERROR(readLatest(db, no, run));
    return run;
}

// The run that this submit made before; nothing if there is none.
Result<std::optional<RunRecord>> findSubmitted(Database& db, const RunRecord& run) {
    if (run.submitKey.empty()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT id FROM run WHERE submit_key = ?", run.submitKey));
    ASSIGN_OR_RETURN(const bool isKnown, query.step());
    if (!isKnown) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(RunRecord known, readWhole(db, query.textAt(0)));
    if (known.specText != run.specText || known.variation != run.variation) {
        return alreadyExists("submit key '", run.submitKey, "': belongs to run ", known.id,
                             ", which has another spec; use a new key");
    }
    return known;
}

Status sealMetrics(Database& db, std::string_view id) {
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    RETURN_IF_ERROR(writeOpenSteps(db, no));
    RETURN_IF_ERROR(MetricWriter(db, no).seal());
    return transaction.commit();
}

Status updateText(Database& db, std::int64_t no, std::string_view column, std::string_view value) {
    return db.run(strCat("UPDATE run SET ", column, " = ? WHERE no = ?"), value, no);
}

// Checked inside the transaction that requeues: earlier checks may be outdated.
Status checkMayRequeue(Database& db, std::int64_t no, std::string_view id) {
    ASSIGN_OR_RETURN(const Standing run, standingOf(db, no));
    if (!run.hasEnded()) {
        return failedPrecondition("run ", id, " is ", values::nameOf(run.state),
                                  "; only a run that has ended can be resumed");
    }
    if (run.isPurged) {
        return failedPrecondition("run ", id, " was purged: its checkpoints are gone for good");
    }
    if (run.isDeleted) {
        return failedPrecondition("run ", id, " is deleted; restore it first");
    }
    return okStatus();
}

// The steps of a run were an estimate (a sample that each epoch draws anew). Its rows have ended,
// so their number is known. A program without a dataset sets its own total.
Status settleSteps(Database& db, std::int64_t no) {
    return db.run(
        "UPDATE run SET steps_total = step WHERE no = ? AND steps_total > 0 AND dataset "
        "<> ''",
        no);
}

// A finished run that is resumed keeps its end in this document, until an attempt of the resume
// begins to work. A script without a dataset may work and report nothing, so its end is not kept.
constexpr char kKeptEnd[] = "kept_end";
// The condition under which a run with the document `d` is still as it was when it finished.
constexpr char kIsEndKept[] =
    "d.kind = 'kept_end' AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.run_no = d.run_no AND "
    "a.has_begun = 1 AND a.attempt > json_extract(d.text, '$.attempt'))";
// The exit reason of a run whose end was restored: it is kept without what follows this.
constexpr char kNotBegun[] = "a resume did not begin: ";

Result<bool> isEndKept(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(Statement query, db.prepare(strCat("SELECT 1 FROM run_document d WHERE "
                                                        "d.run_no = ? AND ",
                                                        kIsEndKept),
                                                 no));
    return query.step();
}

Status keepEnd(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(db.run("DELETE FROM run_document WHERE run_no = ? AND kind = ?", no, kKeptEnd));
    return db.run(
        "INSERT INTO run_document SELECT no, ?1, "
        "json_object('reason', CASE WHEN instr(exit_reason, ?3) > 0 THEN rtrim(substr(exit_reason, "
        "1, instr(exit_reason, ?3) - 1), '; ') ELSE exit_reason END, 'ended_ms', ended_ms, "
        "'attempt', attempt) FROM run WHERE no = ?4 AND state = ?2 AND dataset <> ''",
        kKeptEnd, nameOf(values::RunState::kFinished), kNotBegun, no);
}

// A resume that ends before it has worked changes nothing: the run is finished, as before.
Status restoreEnd(Database& db, std::int64_t no) {
    return db.run(
        "UPDATE run SET state = ?1, ended_ms = json_extract(d.text, '$.ended_ms'), exit_reason = "
        "json_extract(d.text, '$.reason') || CASE WHEN json_extract(d.text, '$.reason') = '' THEN "
        "'' ELSE '; ' END || ?2 || exit_reason FROM run_document d WHERE d.run_no = run.no AND "
        "run.no = ?3 AND d.kind = ?4",
        nameOf(values::RunState::kFinished), kNotBegun, no, kKeptEnd);
}

}  // namespace

Result<RunTable::Created> RunTable::create(const RunRecord& run) {
    ASSIGN_OR_RETURN(std::vector<Created> group, createGroup({run}));
    return std::move(group.front());
}

Result<std::vector<RunTable::Created>> RunTable::createGroup(std::vector<RunRecord> runs) {
    for (RunRecord& run : runs) {
        if (run.params.empty() && !run.resolvedSpec.empty()) {
            ASSIGN_OR_RETURN(const Json spec, parseJson(run.resolvedSpec, "resolved spec"));
            run.params = flattenParams(spec);
        }
        run.state = run.state == values::RunState::kUnknown ? values::RunState::kQueued : run.state;
    }
    MutexLock lock(file_.writeMutex);
    Database& db = *file_.writer;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    std::vector<Created> group;
    WrittenPlans plans;
    // One time for all, so that sorting by uid keeps their order everywhere.
    const std::int64_t createdMs = file_.clock.wallMs();
    for (RunRecord& run : runs) {
        if (!group.empty()) {
            run.variationOf = group.front().run.id;
        }
        ASSIGN_OR_RETURN(std::optional<RunRecord> known, findSubmitted(db, run));
        const bool isNew = !known.has_value();
        if (isNew) {
            run.createdMs = createdMs;
            run.uid = newUid(createdMs, static_cast<int>(group.size()));
            ASSIGN_OR_RETURN(run.id, freshId(db));
            RETURN_IF_ERROR(insertAll(db, run, plans));
        }
        group.push_back({isNew ? std::move(run) : std::move(*known), isNew});
    }
    RETURN_IF_ERROR(transaction.commit());
    for (Created& one : group) {
        ASSIGN_OR_RETURN(one.run, readWhole(db, one.run.id));
    }
    return group;
}

Result<RunRecord> RunTable::get(std::string_view id) const {
    MutexLock lock(file_.readMutex);
    return readWhole(*file_.reader, id);
}

Status RunTable::setState(std::string_view id, const StateChange& change) {
    MutexLock lock(file_.writeMutex);
    Database& db = *file_.writer;
    const auto write = [&](Database&, std::int64_t no) -> Status {
        ASSIGN_OR_RETURN(const std::int64_t newest, currentAttempt(db, no));
        if (change.attempt > 0 && newest > change.attempt) {
            return failedPrecondition("run ", id, ": attempt ", change.attempt,
                                      " is over; the newest is ", newest);
        }
        ASSIGN_OR_RETURN(
            Statement update,
            db.prepare(
                "UPDATE run SET state = ?1, exit_reason = CASE WHEN ?2 <> '' THEN ?2 WHEN ?3 THEN "
                "exit_reason ELSE '' END, started_ms = CASE WHEN ?4 AND started_ms = 0 THEN "
                "coalesce((SELECT min(started_ms) FROM attempt WHERE run_no = ?7), ?5) ELSE "
                "started_ms END, ended_ms = CASE WHEN ?6 THEN ?5 ELSE 0 END WHERE no = ?7"));
        const bool isEnd = values::isEnded(change.state);
        update.bind(nameOf(change.state)).bind(change.exitReason);
        update.bind(isEnd || change.state == values::RunState::kStopping ? 1 : 0);
        update.bind(change.state == values::RunState::kRunning ? 1 : 0).bind(file_.clock.wallMs());
        RETURN_IF_ERROR(update.bind(isEnd ? 1 : 0).bind(no).run());
        if (change.settledStep > 0) {
            RETURN_IF_ERROR(settleUpTo(db, no, newest, change.settledStep));
        }
        ASSIGN_OR_RETURN(const bool isKept, isEndKept(db, no));
        if (change.state == values::RunState::kFinished && change.exitReason.empty()) {
            RETURN_IF_ERROR(settleSteps(db, no));
        } else if (isKept && isEnd && change.state != values::RunState::kFinished) {
            RETURN_IF_ERROR(restoreEnd(db, no));
        }
        return isEnd ? closeTimes(db, no, newest, file_.clock.wallMs(), true) : okStatus();
    };
    RETURN_IF_ERROR(changeRun(db, id, write));
    if (values::isEnded(change.state)) {
        // Only for speed and space: a tail that cannot be sealed now (full disk) works as well.
        (void)sealMetrics(db, id);
    }
    return okStatus();
}

Status RunTable::setReceipt(std::string_view id, std::string_view receiptJson) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        ASSIGN_OR_RETURN(const bool isKept, isEndKept(db, no));
        return isKept ? okStatus() : writeReceipt(db, no, receiptJson);
    });
}

Status RunTable::addPackages(std::string_view id,
                             const std::map<std::string, std::string>& packages) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        values::RunDocuments known;
        RETURN_IF_ERROR(readDocuments(db, no, known));
        for (const auto& [name, version] : packages) {
            known.packages[name] = version;
        }
        return writeDocument(db, no, "packages", dumpJson(Json(known.packages)));
    });
}

Status RunTable::requeue(std::string_view id, std::int64_t resumeFrom,
                         const MaybeSpecChange& change) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        RETURN_IF_ERROR(checkMayRequeue(db, no, id));
        RETURN_IF_ERROR(keepEnd(db, no));
        RETURN_IF_ERROR(
            db.run("UPDATE run SET state = ?, exit_reason = '', ended_ms = 0, resume_from = ? "
                   "WHERE no = ?",
                   nameOf(values::RunState::kQueued), resumeFrom, no));
        if (change.has_value()) {
            RETURN_IF_ERROR(writeDocument(db, no, "resolved", change->resolvedSpec));
            RETURN_IF_ERROR(writePairs(db, no, "run_param", change->params));
            RETURN_IF_ERROR(
                db.run("UPDATE run SET spec_hash = ? WHERE no = ?", change->specHash, no));
        }
        return touchAndQueue(db, no);
    });
}

Status RunTable::setCounted(std::string_view id, const CountedSpec& counted) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        RunRecord run;
        run.plan = counted.plan;
        WrittenPlans plans;
        RETURN_IF_ERROR(writePlan(db, no, run, plans));
        RETURN_IF_ERROR(writeDocument(db, no, "resolved", counted.resolvedSpec));
        RETURN_IF_ERROR(writePairs(db, no, "run_param", counted.params));
        RETURN_IF_ERROR(updateText(db, no, "spec_hash", counted.specHash));
        RETURN_IF_ERROR(updateText(db, no, "stream_hash", counted.streamHash));
        return updateText(db, no, "plan_hash", counted.planHash);
    });
}

Status RunTable::setTag(std::string_view id, std::string_view key, std::string_view value) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) {
        return writePairs(db, no, "run_tag", {{std::string(key), std::string(value)}});
    });
}

Status RunTable::deleteTag(std::string_view id, std::string_view key) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        return db.run("DELETE FROM run_tag WHERE run_no = ? AND key = ?", no, key);
    });
}

Status RunTable::setNote(std::string_view id, std::string_view note) {
    return changeRun(
        file_, id, [&](Database& db, std::int64_t no) { return updateText(db, no, "note", note); });
}

Status RunTable::setHost(std::string_view id, std::string_view host) {
    return changeRun(
        file_, id, [&](Database& db, std::int64_t no) { return updateText(db, no, "host", host); });
}

Status RunTable::markDeleted(std::string_view id) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        ASSIGN_OR_RETURN(const Standing run, standingOf(db, no));
        if (!run.hasEnded()) {
            return failedPrecondition("run ", id, ": is ", values::nameOf(run.state),
                                      "; stop it before deleting it");
        }
        return db.run(
            "UPDATE run SET is_deleted = 1, deleted_ms = ?1, deleted_running_ms = (SELECT value "
            "FROM counter WHERE name = 'running_ms') WHERE no = ?2 AND is_deleted = 0",
            file_.clock.wallMs(), no);
    });
}

Status RunTable::restore(std::string_view id) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        ASSIGN_OR_RETURN(const Standing run, standingOf(db, no));
        if (run.isPurged) {
            return failedPrecondition(
                "run ", id, ": was purged: its checkpoints, points and plan are gone for good");
        }
        return db.run("UPDATE run SET is_deleted = 0, deleted_ms = 0 WHERE no = ?", no);
    });
}

}  // namespace millrace::runs
