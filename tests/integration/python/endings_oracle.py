"""What a run must report, computed from the ledgers of its ranks and from a stream that was read without a daemon."""
import collections
import glob
import json
import os
import re

import endings_draw
import millrace

LEDGER = re.compile(r"a(\d+)\.rank(\d+)\.jsonl$")


class Reference:
    """The whole stream of a case's spec, step by step, read without a daemon."""

    def __init__(self, case, spec):
        self.numbers, self.rows, self.hashes, epochs = [None], [0], [""], collections.defaultdict(list)
        self.problems = []
        with millrace.stream(spec, as_numpy=True, last=case.last) as stream:
            for batch in stream:
                numbers = sorted(int(number) for number in batch.carry["number"])
                self.numbers.append(numbers)
                self.rows.append(self.rows[-1] + batch.step_rows)
                self.hashes.append(stream.order_hash)
                epochs[batch.epoch] += numbers
        kept = set(filter(case.kept, range(case.total())))
        self.kept = len(kept)
        left_out = 0 if case.last == "keep" else len(kept) % case.rows
        for epoch in range(case.epochs):
            got = epochs[epoch]
            if not set(got) <= kept or len(set(got)) != len(got) or len(kept) - len(got) != left_out:
                self.problems.append(f"epoch {epoch} of the stream has {len(got)} rows, {len(set(got))} different ones, "
                                     f"{len(set(got) - kept)} not kept by the recipe, which keeps {len(kept)}")
        if self.steps != case.steps():
            self.problems.append(f"the stream has {self.steps} steps, the rows that are kept make {case.steps()}")

    @property
    def steps(self):
        return len(self.rows) - 1


class Ledger:
    """What the ranks of a script's run wrote down, merged into the steps that count: an attempt that resumes after step s replaces
    all later steps of earlier attempts."""

    def __init__(self, folder):
        self.attempts = collections.defaultdict(dict)  # attempt: rank: lines
        for path in glob.glob(os.path.join(folder, "a*.rank*.jsonl")):
            attempt, rank = map(int, LEDGER.search(path).groups())
            with open(path, encoding="utf-8") as file:
                self.attempts[attempt][rank] = [json.loads(line) for line in file if line.endswith("\n")]
        self.steps = collections.defaultdict(dict)  # step: rank: its line
        self.worlds = {}  # step: ranks of the attempt that took it
        self.evaluations = collections.defaultdict(dict)  # step: rank: numbers, of its last evaluation
        self.evaluators = {}  # step: ranks that share its evaluation rows
        self.problems, self.begun = [], 0  # begun: the step after which the last attempt began
        for attempt in sorted(self.attempts):
            self._add(attempt)

    def _add(self, attempt):
        ranks = self.attempts[attempt]
        begun = {lines[0]["begun"] for lines in ranks.values() if lines}
        if len(begun) > 1:
            self.problems.append(f"ranks of attempt {attempt} begin behind different steps: {sorted(begun)}")
        at = min(begun, default=0)
        if any("numbers" in line for lines in ranks.values() for line in lines):  # an attempt begins with its first step
            self.steps = collections.defaultdict(dict, {step: line for step, line in self.steps.items() if step <= at})
            self.evaluations = collections.defaultdict(dict, {step: one for step, one in self.evaluations.items() if step <= at})
        self.begun = at
        for rank, lines in sorted(ranks.items()):
            if rank == 0 and lines:
                total = sum(sum(line[0]["numbers"]) for step, line in self.steps.items() if 0 in line and step <= at)
                if lines[0]["total"] != total:
                    self.problems.append(f"attempt {attempt} goes on with a checkpoint that sums to {lines[0]['total']}, the steps "
                                         f"before it to {total}")
            due = at
            for line in lines:
                if "step" in line and "numbers" in line:
                    due += 1
                    if line["step"] != due:
                        self.problems.append(f"rank {rank} of attempt {attempt} was given step {line['step']} instead of {due}")
                    self.steps[line["step"]][rank] = line
                    self.worlds[line["step"]] = len(ranks)
                elif "evaluated" in line:
                    self.evaluations[line["evaluated"]][rank] = line["numbers"]
                    self.evaluators[line["evaluated"]] = len(ranks)

    @property
    def last(self):
        """The last attempt: rank: lines."""
        return self.attempts[max(self.attempts)] if self.attempts else {}

    def phase(self, drawn):
        """What happened in the last attempt. A stop takes effect some steps after the request, so an event that was drawn for a step
        before that does not happen."""
        return {"end": "whole"} if 0 <= drawn.get("step", -1) <= self.begun else drawn

    def last_step(self, rank=0):
        """The last step that a rank has ended; steps before the last attempt count for every rank."""
        return max((step for step, ranks in self.steps.items() if rank in ranks), default=self.begun)

    def ends(self):
        """The closing line of each rank of the last attempt that wrote one."""
        return {rank: lines[-1 if "ended" in lines[-1] else -2] for rank, lines in self.last.items()
                if any("ended" in line for line in lines)}

    def losses(self):
        """The losses that rank 0 logged: (step, loss)."""
        return [(step, ranks[0]["loss"]) for step, ranks in sorted(self.steps.items()) if 0 in ranks and ranks[0]["loss"] is not None]

    def __str__(self):
        """The steps and the end of each rank in each attempt, for people."""
        told = []
        for attempt, ranks in sorted(self.attempts.items()):
            for rank, lines in sorted(ranks.items()):
                steps = [line["step"] for line in lines if "numbers" in line and "step" in line]
                ends = [f", {line['ended']} at {line['step']}{' stopped' * line['stopped']}" for line in lines if "ended" in line]
                begun = lines[0]["begun"] if lines else "?"
                told.append(f"attempt {attempt} rank {rank} behind {begun}: steps {steps[0] if steps else '-'} to {steps[-1] if steps else '-'}{''.join(ends)}")
        return "; ".join(told)


class Outcome:
    """What the daemon shows of a run."""

    def __init__(self, shown, series):
        self.shown, self.receipt = shown, shown["receipt"]
        self.series = {one["name"]: [(point["step"], point["value"]) for point in one["points"]] for one in series}

    @property
    def losses(self):
        return self.series.get("loss", [])


def brief(points, most=6):
    """A list as text; a long one with its ends only."""
    points = list(points)
    return str(points) if len(points) <= most else f"{len(points)}: {points[:2]} ... {points[-2:]}"


class Judge:
    """Compares; `problems` has a sentence for each difference."""

    def __init__(self, case, reference, ledger, outcome, how):
        """`how`: the last phase that happened; after a stop, the phase of the stop may be judged before the run is resumed."""
        self.case, self.reference, self.ledger, self.outcome, self.how = case, reference, ledger, outcome, how
        self.problems = [*reference.problems, *ledger.problems]
        self.is_cut = how["end"] in ("kill", "os_exit") or (
            how["end"] in ("raise", "exit_1", "raise_after") and how["rank"] != 0)  # then rank 0 could not send its last reports

    def same(self, what, shown, expected):
        if shown != expected:
            self.problems.append(f"{what}: {shown}, expected {expected}")

    def between(self, what, shown, least, most):
        if shown is None or not least <= shown <= most:
            self.problems.append(f"{what}: {shown}, expected {least} to {most}")

    def judge(self):
        shown, case = self.outcome.shown, self.case
        self.same("state", shown["state"], self.expected_state())
        if case.is_built_in:
            least, most, shows = self.built_in_steps()
        else:
            self.course()
            least, most, shows = self.script_steps()
        step, rows = shown["progress"]["step"] or 0, shown["progress"]["rows"] or 0
        self.between("progress.step", step, *shows)
        self.is_of_a_step("progress.rows", rows, least, most)
        self.same("rows_trained", shown["rows_trained"] or 0, rows)
        self.receipt(least, most)
        self.points(most)
        return self.problems

    def is_of_a_step(self, what, rows, least, most):
        """Checks that `rows` are the rows up to one of the steps `least` to `most`; returns that step, or None."""
        reference = self.reference.rows
        if rows in reference[least:most + 1]:
            return reference.index(rows)
        steps = f"step {least}" if least == most else f"one of the steps {least} to {most}"
        self.problems.append(f"{what}: {rows}, expected {reference[least]} up to {steps}")
        return None

    def expected_state(self):
        """finished, failed or cancelled."""
        end = self.how["end"]
        if self.case.is_built_in:
            return {"stop": "cancelled", "kill": "failed"}.get(end, "finished")
        ends = self.ledger.ends()
        world = len(self.ledger.last)
        if end == "stop":
            return "cancelled" if any(line["stopped"] for line in ends.values()) or len(ends) < world else "finished"
        return "failed" if end in endings_draw.FAILURES else "finished"

    def course(self):
        """Each step of the ledger has the rows of the stream's step, each once, over all ranks."""
        reference = self.reference
        for step, ranks in sorted(self.ledger.steps.items()):
            if step > reference.steps:
                return self.problems.append(f"a step {step} was trained of a stream of {reference.steps}")
            got = sorted(number for line in ranks.values() for number in line["numbers"])
            if len(ranks) == self.ledger.worlds[step] and got != reference.numbers[step]:
                more = collections.Counter(got) - collections.Counter(reference.numbers[step])
                less = collections.Counter(reference.numbers[step]) - collections.Counter(got)
                return self.problems.append(f"step {step} of the course that counts: ranks {sorted(ranks)} have "
                                            f"{sum(more.values())} rows too many and {sum(less.values())} too few")

    def script_steps(self):
        """Returns the least and the greatest step up to which rows were trained on, and the range of steps that the run may show."""
        case, ledger, how = self.case, self.ledger, self.how
        end, last = how["end"], ledger.last_step()
        saved = max((one["step"] for one in self.outcome.shown["checkpoints"]), default=0)
        planned = {"break": how.get("step"), "counted": how.get("step"), "exit_0": how.get("step"),
                   "whole": self.reference.steps, "len": self.reference.steps, "max_steps": self.reference.steps,
                   "raise_after": self.reference.steps}.get(end)
        if planned is not None:
            planned = min(planned, case.max_steps or planned)
            self.same("the ledger's last step", last, planned)
        for rank in ledger.ends() if planned is not None or end == "stop" else ():
            self.same(f"the last step of rank {rank}", ledger.last_step(rank), last)
            self.same(f"stream.step of rank {rank}", ledger.ends()[rank]["step"], last)
            self.same(f"stream.order_hash of rank {rank}", ledger.ends()[rank]["hash"], self.reference.hashes[last])
            self.same(f"stream.rows_delivered of rank {rank}", ledger.ends()[rank]["rows"], self.reference.rows[last])
        if saved > min((ledger.last_step(rank) for rank in ledger.last), default=0):
            self.problems.append(f"a checkpoint of step {saved} counts, which not all ranks have ended: "
                                 f"{ {rank: ledger.last_step(rank) for rank in ledger.last} }")
        if end == "nothing":
            return min(ledger.begun, last), last, (min(ledger.begun, last), last)
        under_way = min(last + 1, self.reference.steps)
        if end in ("raise", "exit_1") and how["rank"] == 0:
            # The run shows the step that was under way, because it has metrics of it. After an exception that step is not done; after
            # a bare exit code nobody can tell whether its rows count.
            return last, under_way if end == "exit_1" else last, (under_way, under_way)
        if self.is_cut:
            return saved, under_way, (saved, under_way)  # the daemon knows the run up to the last report
        if end == "raise_after" and case.kind == "lightning":
            return last - 1, last, (last, last)  # its loop asks for nothing after its last batch, so nobody knows that the step ended
        return last, last, (last, last)

    def built_in_steps(self):
        case, end, steps = self.case, self.how["end"], self.reference.steps
        if case.patience:
            steps = min(steps, (1 + case.patience) * case.evaluates_every)
        elif end in ("stop", "kill"):
            saved = max((one["step"] for one in self.outcome.shown["checkpoints"]), default=0)
            return (saved, saved, (saved, saved)) if end == "stop" else (saved, steps, (saved, steps))
        last = min(steps, case.max_steps or steps)
        return last, last, (last, last)

    def receipt(self, least, most):
        """Checks that the receipt belongs to one step from `least` to `most`."""
        receipt, reference = self.outcome.receipt, self.reference
        if receipt is None:
            if reference.rows[least]:
                self.problems.append(f"no receipt, though {reference.rows[least]} rows were trained on")
            return
        rows = receipt["rows_trained"]
        step = self.is_of_a_step("receipt.rows_trained", rows, least, most)
        if step is None:
            return
        self.same("receipt.order_hash", receipt["order_hash"], reference.hashes[step])
        self.tables(receipt)
        self.funnel(receipt, rows, is_whole=step == reference.steps and self.is_read_to_its_end())

    def is_read_to_its_end(self):
        """Whether the run has read the end of the stream after the last step."""
        if self.case.is_built_in:
            return not self.case.max_steps and not self.case.patience
        return all(line["ended"] == "whole" for line in self.ledger.ends().values()) and not self.case.max_steps \
            and self.how["end"] in ("whole", "raise_after") and self.case.kind != "lightning"

    def tables(self, receipt):
        expected = {step[3] + ".csv": len(endings_draw.TABLES[step[3]]) for step in self.case.recipe if step[3]}
        self.same("rows of side tables", {os.path.basename(one["path"]): one["rows"] for one in receipt["side_tables"]}, expected)

    def funnel(self, receipt, rows, is_whole):
        """Rows read, rows after each step, rows kept: counted for whole segments that were opened."""
        case, total = self.case, self.case.total() * self.case.epochs
        kept, scanned = receipt["rows_kept"], receipt["rows_scanned"]
        self.between("receipt.rows_kept", kept, rows, self.reference.kept * case.epochs)
        self.between("receipt.rows_scanned", scanned, kept, total)
        funnel = [(one["step"], one["rows_in"], one["rows_out"]) for one in receipt["steps"]]
        self.same("steps of the receipt", [one[0] for one in funnel], ["where", *(step[0] for step in case.recipe)])
        most = scanned
        for name, rows_in, rows_out in funnel:
            if not most >= rows_in >= rows_out >= kept:
                self.problems.append(f"step {name} of the receipt has {rows_in} rows in and {rows_out} out, between {most} and {kept}")
            most = rows_out
        if is_whole:
            left, expected = [endings_draw.row(number) for number in range(case.total())], []
            for name, stays in [("where", endings_draw.WHERES[case.where]), *((step[0], step[2]) for step in case.recipe)]:
                rows_in, left = len(left), [one for one in left if stays(one)]
                expected.append((name, rows_in * case.epochs, len(left) * case.epochs))
            self.same("rows by step, read to the end", funnel, expected)
            self.same("receipt.rows_kept, read to the end", kept, len(left) * case.epochs)
            self.same("receipt.rows_scanned, read to the end", scanned, total)

    def points(self, step):
        """Checks the metrics: each step that counts is there once, with the value that was logged."""
        losses, name = self.outcome.losses, "points of loss"
        if self.case.is_built_in:
            steps = [at for at, _ in losses]
            if steps != list(range(1, len(steps) + 1)) or (not self.is_cut and len(steps) != step):
                self.problems.append(f"{name}: steps {brief(steps)}, expected each of 1 to {step}")
        else:
            expected = self.ledger.losses()
            if losses != (expected[:len(losses)] if self.is_cut or self.how["end"] == "nothing" else expected):
                self.problems.append(f"{name}: {brief(losses)}, expected {brief(expected)}")
        if self.case.has_evaluation:
            self.evaluations(step)

    def evaluations(self, step):
        case = self.case
        points = [at for at, _ in self.outcome.series.get("eval.log_loss", [])]
        if case.is_built_in:
            every = case.evaluates_every
            expected = list(range(every, step + 1, every)) if every else []
            expected += [step] if self.how["end"] not in ("stop", "kill") and step not in expected else []
            if self.how["end"] == "stop" and points == [at for at in expected if at < step]:
                return  # stopped at a step that is to be evaluated: the evaluation follows once the run is resumed
            if not self.is_cut:
                self.same("steps of evaluations", points, expected)
            return
        rows = sorted(number for number in range(case.total()) if endings_draw.WHERES[endings_draw.TEST](endings_draw.row(number)))
        for at, ranks in self.ledger.evaluations.items():
            numbers = [number for share in ranks.values() for number in share]
            if len(ranks) == self.ledger.evaluators[at] and sorted(numbers) != rows:
                self.problems.append(f"the evaluation of step {at} has {len(numbers)} rows, {len(set(numbers))} different ones, "
                                     f"expected {len(rows)}")
        if case.has_torch or len(self.ledger.last) == 1:
            # Ranks that do not meet cannot have figures of all rows.
            expected = [at for at in sorted(self.ledger.evaluations) if case.has_torch or self.ledger.evaluators[at] == 1]
            if points != expected and not ((self.is_cut or self.how["end"] == "nothing") and points == expected[:len(points)]):
                self.problems.append(f"steps of evaluations: {points}, expected {expected}")
