#!/usr/bin/env python3
"""Wrong uses of the module: each fails with one clear error."""
import json
import pickle
import threading
import unittest

from harness import Case

import millrace


class Misuse(Case):
    def refused(self, sentence, kind=millrace.MisuseError):
        return self.assertRaisesRegex(kind, sentence)

    def test_two_consumers(self):
        with millrace.stream(self.spec(), as_numpy=True) as stream:
            loop = iter(stream)
            next(loop)
            with self.refused("has a consumer already"):
                iter(stream)
            with self.refused("has a consumer already"):
                list(zip(stream, stream))
            del loop
            next(iter(stream))

    def test_a_loop_that_took_the_last_batch_is_no_consumer_any_more(self):
        for how in ({"last": "drop"}, {"last": "keep"}):
            with millrace.stream(self.spec(), as_numpy=True, **how) as stream:
                loop = iter(stream)
                for _ in range(len(stream)):  # like a framework that counts batches and asks for no further one
                    next(loop)
                with self.refused("read to its end: one loop reads all epochs"):
                    iter(stream)
                state = stream.state_dict()
                with self.assertRaises(StopIteration):
                    next(loop)
                self.assertEqual(stream.state_dict(), state)

    def test_what_a_refused_loop_looked_at_is_not_lost(self):
        with millrace.stream(self.spec(), as_numpy=True) as stream:
            loop = iter(stream)
            rows = [next(loop).carry["number"].tolist()]
            with self.refused("has a consumer already"):
                iter(stream)
            rows += [batch.carry["number"].tolist() for batch in loop]
        with millrace.stream(self.spec(), as_numpy=True) as again:
            self.assertEqual([batch.carry["number"].tolist() for batch in again], rows)

    def test_two_threads(self):
        with millrace.stream(self.spec(total=6400), as_numpy=True) as stream:
            loop = iter(stream)
            next(loop)
            inside, over = threading.Event(), threading.Event()
            read = stream._reader.next_step

            def slow(wait):
                inside.set()
                over.wait(20)
                return read(wait)
            stream._reader.next_step = slow
            thread = threading.Thread(target=lambda: next(loop))
            thread.start()
            self.assertTrue(inside.wait(20))
            with self.refused("two threads read this stream at once"):
                next(loop)
            over.set()
            thread.join(20)
            stream._reader.next_step = read
            next(loop)

    def test_a_stream_that_is_closed_or_over(self):
        stream = millrace.stream(self.spec(), as_numpy=True)
        list(stream)
        with self.refused("was read to its end: one loop reads all epochs"):
            iter(stream)
        stream.close()
        stream.close()
        for use in (lambda: iter(stream), lambda: stream.schema, stream.evaluation, lambda: stream.load_state_dict({})):
            with self.refused("this stream is closed"):
                use()

    def test_a_stream_is_not_sent_to_another_process(self):
        with millrace.stream(self.spec(), as_numpy=True) as stream, self.refused("num_workers=0"):
            pickle.dumps(stream)

    def test_arguments_that_cannot_be(self):
        spec = self.spec()
        for how, sentence in (({"last": "all"}, '"drop" leaves'), ({"prefetch": -1}, "0 or more"),
                              ({"rank": 1}, "rank and world belong together"), ({"dp_size": 2}, "dp_rank and dp_size"),
                              ({"rank": 2, "world": 2}, "2 of 2 cannot be"),
                              ({"rank": 0, "world": 2, "dp_rank": 0, "dp_size": 2}, "cannot both be given"),
                              ({"device": "cuda"}, "leave it or device out")):
            with self.refused(sentence):
                millrace.stream(spec, as_numpy=True, **how)
        with self.refused(r'changes are a dict of keys and values, as in set=\{"batch.seed": 8\}'):
            millrace.stream(spec, set=["batch.seed=8"])
        with self.refused("this file does not exist", millrace.SpecError):
            millrace.stream(spec + ".yaml")
        with self.refused("is relative to the working directory; os.path.join", millrace.SpecError):
            millrace.stream("elsewhere/spec.yaml")
        self.assert_nothing_left()

    def test_a_wrong_spec_is_told_in_the_feeds_words(self):
        wrong = self.spec(more="nonsense: 1\n")
        with self.refused("nonsense", millrace.SpecError):
            next(iter(millrace.stream(wrong, as_numpy=True)))
        spec = self.spec()
        with self.refused("variation", millrace.SpecError):
            next(iter(millrace.stream(spec, "no-such", as_numpy=True)))
        with self.refused("admissible: 1, 2, 4", millrace.SpecError):
            next(iter(millrace.stream(spec, rank=0, world=3, as_numpy=True)))
        self.assert_nothing_left()

    def test_states_that_do_not_belong(self):
        spec = self.spec()
        with millrace.stream(spec, as_numpy=True) as stream:
            next(iter(stream))
            state = stream.state_dict()
            for wrong in ({}, {"millrace": 2, "state": ""}, {"millrace": 1}, "text", None):
                with self.refused("not a state of a stream", millrace.SpecError):
                    stream.load_state_dict(wrong)
            with self.refused("damaged", millrace.SpecError):
                stream.load_state_dict({"millrace": 1, "state": state["state"][:-5]})
        with millrace.stream(spec, set={"batch.seed": 9}, as_numpy=True) as other:
            other.load_state_dict(state)
            with self.refused("stream|plan", millrace.SpecError):
                next(iter(other))
        rows = state["step_rows"]
        with millrace.stream(spec, set={"batch.rows": 2 * rows}, as_numpy=True) as other:
            other.load_state_dict(state)
            with self.refused(f"batch.rows: {rows}, and this stream has {2 * rows}", millrace.SpecError):
                next(iter(other))
            other.load_state_dict({**state, "state": "", "step": 0, "step_rows": 0})
            next(iter(other))

    def test_states_that_were_changed_by_hand(self):
        spec = self.spec()
        with millrace.stream(spec, as_numpy=True) as stream:
            next(iter(stream))
            state = stream.state_dict()
        for key, value, sentence in (("next", 10 ** 18, "micro-batch 1000000000000000000"), ("epoch", 99, "epoch 99"),
                                     ("segment", 400, "segment 400")):
            inner = json.loads(state["state"])
            inner["cursor"][key] = value
            with millrace.stream(spec, as_numpy=True) as stream:
                stream.load_state_dict({**state, "state": json.dumps(inner)})
                with self.refused(f"state: .*{sentence}.*it was changed", millrace.SpecError):
                    next(iter(stream))
        with millrace.stream(spec, as_numpy=True) as stream:
            list(stream)
            end = stream.state_dict()
            stream.load_state_dict(end)
            self.assertEqual(list(stream), [])

    def test_what_is_not_installed(self):
        done = self.run_script("""
            import sys
            for name in ("pyarrow", "torchrec", "torch"):
                sys.modules[name] = None
            import millrace
            batch = next(iter(millrace.stream(sys.argv[1])))
            print(type(batch["dense"]).__name__)
            for ask in (batch.arrow, batch.kjt, lambda: batch.to("cpu"), lambda: millrace.stream(sys.argv[1], device="cuda")):
                try:
                    ask()
                except millrace.MisuseError as error:
                    print(error)
        """, self.spec())
        self.assertEqual(done.stderr.splitlines()[-4:], [])
        said = done.stdout.splitlines()
        self.assertEqual(said[0], "ndarray")
        for line, sentence in zip(said[1:], ("pyarrow is not installed", "torchrec brings", "without as_numpy", "needs torch")):
            self.assertIn(sentence, line)
        self.assertEqual(len(said), 5)

    def test_without_programs_or_library(self):
        code = "import millrace, sys\nnext(iter(millrace.stream(sys.argv[1], as_numpy=True)))"
        spec = self.spec()
        done = self.run_script(code, spec, MILLRACE_FEED_LIBRARY="/srv/none.so")
        self.assertIn("/srv/none.so: this file does not exist; MILLRACE_FEED_LIBRARY", done.stderr)
        done = self.run_script(code, spec, MILLRACE_BIN_DIR="", PATH="/srv/none")
        self.assertIn("millrace-exec is not installed: `pip install millrace-loader`", done.stderr)

    def test_a_rank_whose_first_rank_gave_up_does_not_wait_for_it(self):
        from millrace._feed import Feed, Request
        from millrace._ranks import Place
        request = Request(self.spec(), None, (), "drop")
        first, second = (Place(rank, 2, (0, 1), 0, "a job", rank == 0) for rank in (0, 1))
        joiner = Feed(request, second)
        self.assertIsNone(joiner._socket_of_starter())
        starter = Feed(request._replace(variation="none"), first)
        with self.refused("none", millrace.SpecError):
            starter.wait_for_socket()
        self.assertIsNone(joiner._socket_of_starter())
        starter.close()
        with self.refused("first rank of this node ended its feed", millrace.FeedError):
            joiner.wait_for_socket()

    def test_a_feeds_directory_that_others_can_enter_is_refused(self):
        import os
        spec = self.spec()
        os.mkdir(os.path.join(self.sockets, f"millrace-{os.geteuid()}"), 0o755)
        with self.refused("not a directory of this user alone", millrace.MillraceError):
            next(iter(millrace.stream(spec, as_numpy=True)))


if __name__ == "__main__":
    unittest.main()
