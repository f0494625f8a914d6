#!/usr/bin/env python3
"""`millrace` on one machine with its daemon behind a real sshd: logins, questions, failures and their errors.
MILLRACE_SSH_TRANSPORT chooses the program: every test runs over both.

    ssh_test.py [SUITE.TEST]
"""
import getpass
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from poll import wait_for  # noqa: E402
from ssh_case import BIN, EXAMPLE, MILLRACE, ROOT, SshCase  # noqa: E402
from sshd import client_host, make_key  # noqa: E402


class WaysIn(SshCase):
    """Aliases, jumps, keys, agents, questions."""

    def test_an_alias_of_the_configuration_leads_to_the_daemon(self):
        started = self.json("up")
        self.assertFalse(started["was_running"])
        self.assertTrue(started["daemon"]["address"].startswith(f"unix:{self.server.home}/run/"), started)
        self.assertTrue(self.json("up")["was_running"])
        self.assertEqual(self.json("ls")["runs"], [])
        self.assertEqual(self.json("nodes")["nodes"][0]["head"], True)
        self.assertTrue(self.json("down")["was_running"])

    def test_up_starts_agents_of_nodes_on_other_hosts_and_down_ends_them(self):
        self.cli("up", "--nodes-listen", "127.0.0.1", "--hosts", "gpu1", host=None)
        nodes = {node["name"]: node for node in self.json("nodes", host=None)["nodes"]}
        self.assertEqual(nodes["gpu1"]["state"], "attached")
        self.assertTrue(nodes["gpu1"]["state_dir"].startswith(self.server.home), nodes["gpu1"])
        join = os.path.join(nodes["gpu1"]["state_dir"], "nodes.join")
        self.assertEqual(os.stat(join).st_mode & 0o777, 0o600)
        self.cli("up", "--hosts", "gpu1", host=None)  # the agent is there already
        self.assertEqual(len(list(self.processes("--slot"))), 1)
        self.cli("down", host=None)
        wait_for("the agent ends too", lambda: not list(self.processes("--slot")))

    def test_hosts_of_the_configuration_have_agents_as_long_as_the_daemon_runs(self):
        state = os.path.join(self.mine, "state/millrace")
        os.makedirs(state, mode=0o700)
        with open(os.path.join(state, "millraced.yaml"), "w", encoding="utf-8") as file:
            file.write("nodes_listen: 127.0.0.1\nhosts: [gpu1]\n")

        def node():
            return {node["name"]: node for node in self.json("nodes", host=None)["nodes"]}["gpu1"]
        self.cli("up", host=None)
        wait_for("the agent comes", lambda: node()["state"] == "attached", 30)
        first = node()["pid"]
        self.server.stop()
        os.kill(first, signal.SIGKILL)
        wait_for("ssh's words are shown", lambda: "Connection refused" in (node()["trouble"] or ""), 30)
        self.assertIn("gpu1: its agent cannot be started: ssh: connect to host", self.run_cli("nodes", host=None).stderr)
        self.server.start(self.server.port)
        wait_for("the agent is started again", lambda: node()["state"] == "attached", 60)
        self.assertNotEqual(node()["pid"], first)
        self.assertIsNone(node()["trouble"])
        self.cli("down", host=None)
        wait_for("the agent ends too", lambda: not list(self.processes("--slot")))

    def test_a_daemon_for_agents_of_this_machine_takes_none_of_others(self):
        self.cli("up", "--nodes", "2", host=None)
        self.assertIn("--nodes-listen HOST", self.refusal("up", "--hosts", "gpu1", code=1, host=None))
        self.cli("down", host=None)

    def test_user_and_port_in_the_address_need_no_configuration(self):
        self.cli("up")
        self.write_config(f"Host *\n  IdentityFile {self.key}\n  UserKnownHostsFile {self.known}\n")
        whole = f"ssh://{getpass.getuser()}@127.0.0.1:{self.server.port}"
        self.assertEqual(self.json("ls", host=whole)["runs"], [])
        path = os.path.join(self.server.home, "run/millrace/millraced.sock")
        self.assertEqual(self.json("ls", host=whole + path)["runs"], [])

    def test_a_jump_leads_over_a_second_server(self):
        self.cli("up")
        jump = self.new_server("jump")
        shutil.copy(os.path.join(self.server.folder, "authorized_keys"), jump.folder)
        jump.start()
        self.write_known(self.server.known_line(), jump.known_line())
        self.write_config(client_host("door", jump, self.key, self.known),
                          client_host("inner", self.server, self.key, self.known, "  ProxyJump door\n"))
        before = jump.connections()
        self.assertEqual(self.json("ls", host="ssh://inner")["runs"], [])
        self.assertEqual(jump.connections(), before + 1)

    def test_a_key_of_the_agent_is_taken(self):
        self.cli("up")
        agent = subprocess.run(["ssh-agent", "-a", os.path.join(self.mine, "agent"), "-s"], capture_output=True, text=True,
                               env=self.env, check=True)
        pid = int(agent.stdout.split("SSH_AGENT_PID=")[1].split(";")[0])
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        held = os.path.join(self.mine, "held")
        self.server.authorize(make_key(held))
        with_agent = {**self.env, "SSH_AUTH_SOCK": os.path.join(self.mine, "agent")}
        subprocess.run(["ssh-add", "-q", held], env=with_agent, capture_output=True, check=True)
        os.remove(held)
        self.write_config(client_host("gpu1", self.server, held, self.known).replace("IdentitiesOnly yes", "IdentitiesOnly no"))
        self.refusal("ls", code=1)
        self.assertEqual(self.json("ls", SSH_AUTH_SOCK=with_agent["SSH_AUTH_SOCK"])["runs"], [])

    def test_a_passphrase_is_asked_for_unseen_and_once(self):
        self.cli("up")
        locked = os.path.join(self.mine, "locked")
        self.server.authorize(make_key(locked, "open sesame"))
        self.write_config(client_host("gpu1", self.server, locked, self.known))
        self.assertIn("nobody could be asked for a passphrase", self.refusal("ls", code=1))
        terminal = self.terminal("ls")
        terminal.expect(f"Enter passphrase for key '{locked}': ")
        terminal.type("open sesame\n")
        code, text = terminal.end()
        self.assertEqual(code, 0, text)
        self.assertNotIn("sesame", text)
        self.assertIn("no runs yet", text)

    def test_a_password_and_a_code_are_asked_for_by_a_host_that_wants_both(self):
        server = os.path.join(BIN, "../tests/kbdint_server")
        if not os.path.exists(server):
            self.skipTest("kbdint_server is not built (libssh is missing)")
        self.cli("up")
        home = self.server.home
        process = subprocess.Popen(
            [server, os.path.join(self.server.folder, "host_key"), "open sesame", "314159",
             os.path.join(home, "run/millrace/millraced.sock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"HOME": home, "PATH": f"{BIN}:/usr/bin:/bin", "XDG_RUNTIME_DIR": os.path.join(home, "run")})
        self.addCleanup(process.communicate)
        port = int(process.stdout.readline().split()[1])
        kind, key = self.server.host_key.split()[:2]
        self.write_known(f"[127.0.0.1]:{port} {kind} {key}\n")
        self.write_config(f"Host gpu1\n  HostName 127.0.0.1\n  Port {port}\n  UserKnownHostsFile {self.known}\n")
        terminal = self.terminal("ls")
        terminal.expect("Password: ")
        terminal.type("open sesame\n")
        terminal.expect("Code: ")
        terminal.type("314159\n")
        code, text = terminal.end()
        self.assertEqual(code, 0, text)
        self.assertIn("no runs yet", text)
        self.assertNotIn("sesame", text)
        self.assertIn("314159", text)  # a one-time code may be shown
        self.refusal("ls", code=1)  # without a terminal nobody is asked

    def test_a_question_that_is_given_up_ends_with_a_sentence(self):
        locked = os.path.join(self.mine, "locked")
        self.server.authorize(make_key(locked, "open sesame"))
        self.write_config(client_host("gpu1", self.server, locked, self.known))
        terminal = self.terminal("ls")
        terminal.expect("Enter passphrase for key")
        terminal.type("\x03")
        code, text = terminal.end()
        self.assertIn("was given up", text)
        self.assertNotEqual(code, 0)

    def test_ctrl_c_ends_a_connection_that_hangs(self):
        self.write_config(client_host("gpu1", self.server, self.key, self.known, "  ProxyCommand sleep 60\n"))
        terminal = self.terminal("ls")
        wait_for("it is connecting", lambda: list(self.processes("sleep\x0060")))
        terminal.type("\x03")
        code, text = terminal.end(10)
        self.assertIn("the connection to ssh://gpu1 was given up", text)
        self.assertNotEqual(code, 0)
        wait_for("nothing of it is left", lambda: not list(self.processes("sleep\x0060")))

    def test_twenty_channels_go_through_one_connection(self):
        self.cli("up")
        run = self.cli("run", self.spec_there(epochs=30000), "--there", "--detach").split()[0]
        before = self.server.connections()
        first = subprocess.Popen([MILLRACE, "logs", "-f", "--all", run, "--host", "ssh://gpu1"], env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
        self.addCleanup(first.kill)
        place = os.path.join(self.mine, "run/millrace")
        here = wait_for("the daemon's socket is forwarded", lambda: glob.glob(os.path.join(place, "ssh-*/0")))[0]
        others = [subprocess.Popen([MILLRACE, "watch", run, "--json", "--host", f"unix:{here}"], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True)
                  for _ in range(20)]
        for other in others:
            self.addCleanup(other.kill)
        for other in others:  # all at the same time: no watch ends before the last one has received the run's progress
            while '"type":"progress"' not in (line := other.stdout.readline()):
                self.assertTrue(line, "a watch ended early")
        for other in others:
            other.kill()
            other.communicate()
        self.assertEqual(self.server.connections(), before + 1)
        first.send_signal(signal.SIGTERM)
        self.assertIn("rank0", first.communicate(timeout=60)[0])
        self.cli("stop", run)


class HostKeys(SshCase):
    """How the command line checks the host's identity."""

    def test_an_unknown_host_is_asked_about_with_its_fingerprint(self):
        self.cli("up")
        self.write_known()
        shown = subprocess.run(["ssh-keygen", "-lf", os.path.join(self.server.folder, "host_key.pub")], capture_output=True,
                               text=True, check=True).stdout.split()[1]
        terminal = self.terminal("ls")
        self.assertIn(shown, terminal.expect("Trust this key and go on?"))
        terminal.type("yes\n")
        code, text = terminal.end()
        self.assertEqual(code, 0, text)
        self.assertEqual(self.json("ls")["runs"], [], "the key is known from now on")

    def test_an_unknown_host_is_refused_where_nobody_can_be_asked(self):
        self.write_known()
        said = self.refusal("ls", code=1)
        self.assertIn("the host key of ssh://gpu1 is not known, and there is nobody to ask here", said)
        self.assertIn("--ssh-strict asks nobody", self.refusal("ls", "--ssh-strict", code=1))
        terminal = self.terminal("ls", "--ssh-strict")
        code, text = terminal.end()
        self.assertEqual(code, 1)
        self.assertNotIn("Trust this key", text)
        with open(self.known, encoding="utf-8") as file:
            self.assertEqual(file.read(), "", "nothing was added")

    def test_a_key_that_is_not_trusted_ends_it(self):
        self.write_known()
        terminal = self.terminal("ls")
        terminal.expect("Trust this key and go on?")
        terminal.type("no\n")
        code, text = terminal.end()
        self.assertEqual(code, 1)
        self.assertIn("the host key of ssh://gpu1 was not accepted; nothing was sent", text)

    def test_a_changed_key_is_refused_and_explained(self):
        other = make_key(os.path.join(self.folder, "other"))
        self.write_known(self.server.known_line(other))
        said = self.refusal("ls", code=1)
        self.assertIn("the host key of ssh://gpu1 has changed", said)
        self.assertIn("remove the old key", said)
        self.assertIn(f"{self.known}:1", said)
        self.assertEqual(self.server.connections(), 0)

    def test_a_hashed_known_hosts_file_is_read(self):
        self.cli("up")
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", self.known], capture_output=True, check=True)
        with open(self.known, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("|1|"))
        self.assertEqual(self.json("ls")["runs"], [])


class WhatFails(SshCase):
    """Failures; each error says what to do."""

    def test_a_refused_user_is_named_with_the_ways_that_were_tried(self):
        self.server.authorize(make_key(os.path.join(self.folder, "another")))
        said = self.refusal("ls", code=1)
        self.assertIn("in by none of publickey", said)
        self.assertIn("ssh-add", said)

    def test_no_daemon_there_says_how_to_start_one(self):
        said = self.refusal("ls", code=6)
        self.assertIn("no daemon answers on ssh://gpu1", said)
        self.assertIn("'millrace up --host ssh://gpu1' starts one", said)

    def test_a_daemon_that_was_killed_leaves_a_socket_that_nobody_serves(self):
        self.cli("up")
        path = os.path.join(self.server.home, "run/millrace/millraced.sock")
        for pid in self.processes("millraced"):
            os.kill(pid, signal.SIGKILL)
        wait_for("it is gone", lambda: not list(self.processes("millraced")))
        self.assertIn(f"nobody listens at {path}", self.refusal("ls", code=6))

    def test_a_host_that_does_not_answer_is_unreachable(self):
        self.server.stop()
        said = self.refusal("ls", code=6)
        self.assertIn("no connection to ssh://gpu1: no SSH server answers there", said)
        self.write_config("Host gpu1\n  HostName no-such-host.invalid\n")
        self.assertIn("the host name is not known", self.refusal("ls", code=6))

    def test_a_host_that_runs_something_else_is_told_apart(self):
        path = os.path.join(self.server.folder, "sshd_config")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.server.stop()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.split("ForceCommand")[0] + "ForceCommand echo 'choose a host: 1) a 2) b'\n")
        self.server.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", path], stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("it listens", lambda: self.run_cli("ls").returncode != 6, 20)
        said = self.refusal("ls", code=1)
        self.assertIn("does not run a command for sh; it said: choose a host", said)

    def test_nothing_is_left_of_a_client_that_was_killed(self):
        self.cli("up")
        run = self.cli("run", self.spec_there(epochs=30000), "--there", "--detach").split()[0]
        client = subprocess.Popen([MILLRACE, "logs", "-f", "--all", run, "--host", "ssh://gpu1"], env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        place = os.path.join(self.mine, "run/millrace")
        wait_for("it is in", lambda: os.path.isdir(place) and os.listdir(place))
        program = "ssh\0-M" if self.env["MILLRACE_SSH_TRANSPORT"] == "ssh" else "millrace-ssh\0-M"
        wait_for("its ssh runs", lambda: list(self.processes(program)))
        client.kill()
        client.wait()
        wait_for(lambda: f"its ssh ends: {list(self.processes(program))}", lambda: not list(self.processes(program)), 20)
        self.cli("stop", run)
        self.assertEqual([name for name in os.listdir(place) if name.startswith("ssh-")], [],
                         "the next client puts away what the killed one left")


class TwoUsers(SshCase):
    """Bob logs in on a host where alice has a daemon: two accounts in a separate namespace."""

    programs_there = BIN

    def setUp(self):
        works = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
        if os.geteuid() != 0 or not works:
            self.skipTest("needs root and a mount namespace for accounts of its own")
        self.accounts = tempfile.mkdtemp(prefix="mra-")
        self.addCleanup(shutil.rmtree, self.accounts, True)
        for name, text in {"passwd": "root:x:0:0::/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
                                     "alice:x:61001:61001::/:/bin/sh\nbob:x:61002:61002::/:/bin/sh\n",
                           "shadow": "root:*:1::::::\nsshd:!:1::::::\nalice:*:1::::::\nbob:*:1::::::\n",
                           "group": "root:x:0:\nalice:x:61001:\nbob:x:61002:\n"}.items():
            with open(os.path.join(self.accounts, name), "w", encoding="utf-8") as file:
                file.write(text)
        over = " && ".join(f"mount --bind {self.accounts}/{name} /etc/{name}" for name in ("passwd", "shadow", "group"))
        self.prefix = ("unshare", "-m", "sh", "-c", f'{over} && exec "$@"', "sh")
        super().setUp()
        os.chmod(self.folder, 0o755)

    def test_a_daemon_of_another_user_is_named_with_both_users(self):
        theirs = os.path.join(self.server.home, "alice")
        os.mkdir(theirs, 0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(theirs, "d.sock"))
            listener.listen()
            os.chown(os.path.join(theirs, "d.sock"), 61001, 61001)
            os.chown(theirs, 61001, 61001)
            with open(os.path.join(self.mine, "ssh_config"), encoding="utf-8") as file:
                config = file.read()
            self.write_config(config.replace(f"User {getpass.getuser()}", "User bob"))
            said = self.refusal("ls", host=f"ssh://gpu1{theirs}/d.sock", code=1)
        self.assertIn("runs as alice; you are bob there", said)


class Hosts(SshCase):
    """Named hosts, and the test of a connection."""

    def test_a_named_host_is_added_listed_taken_and_forgotten(self):
        self.cli("up")
        self.cli("host", "add", "lab", "ssh://gpu1", "--remote-dir", "data", host="")
        self.assertEqual(self.json("host", "ls", host="")["hosts"],
                         [{"name": "lab", "address": "ssh://gpu1", "remote_dir": "data"}])
        self.assertEqual(self.json("ls", host="lab")["runs"], [])
        self.assertEqual(self.json("ls", host="", MILLRACE_HOST="lab")["runs"], [])
        self.assertIn("did you mean 'lab'?", self.refusal("ls", host="lap", code=2))
        self.cli("host", "rm", "lab", host="")
        self.assertIn("no host is named 'lab'", self.refusal("ls", host="lab", code=2))
        self.assertIn("takes no password", self.refusal("host", "add", "x", "ssh://me:secret@gpu1", host="", code=1))

    def test_the_test_of_a_host_says_each_step_and_what_failed(self):
        report = json.loads(self.cli("host", "test", "ssh://gpu1", "--json", host="", code=6))
        self.assertEqual([(step["step"], step["ok"]) for step in report["steps"]],
                         [("connect", True), ("programs", True), ("socket", False)])
        self.cli("up")
        report = self.json("host", "test", "ssh://gpu1", host="")
        self.assertEqual([step["step"] for step in report["steps"]], ["connect", "programs", "socket", "daemon", "list"])
        self.assertTrue(report["ok"])
        self.assertTrue(all(step["seconds"] >= 0 for step in report["steps"]))

    def test_a_step_that_could_not_look_is_the_last_one(self):
        if self.env["MILLRACE_SSH_TRANSPORT"] != "ssh":
            self.skipTest("the program in front of ssh stands in for the system's")
        place = os.path.join(self.mine, "bin")
        os.mkdir(place)
        with open(os.path.join(place, "ssh"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase " $* " in *" -M "*) exec {shutil.which("ssh")} "$@";; esac\n'
                       "echo 'Session open refused by peer' >&2; exit 255\n")
        os.chmod(file.name, 0o755)
        report = json.loads(self.cli("host", "test", "ssh://gpu1", "--json", host="", code=6,
                                     PATH=os.pathsep.join([place, os.environ["PATH"]])))
        self.assertEqual([(step["step"], step["ok"]) for step in report["steps"]], [("connect", True), ("programs", False)])
        self.assertIn("Session open refused by peer", report["steps"][1]["text"])

    def test_a_book_of_hosts_that_cannot_be_read_is_named(self):
        path = os.path.join(self.mine, "config/millrace/hosts.json")
        os.makedirs(path)
        for words, code in ((("host", "ls"), 1), (("ls", "--host", "lab"), 2), (("host", "add", "lab"), 1)):
            self.assertIn(path, self.refusal(*words, host="", code=code), words)

    def test_the_socket_path_is_where_the_daemon_listens(self):
        here = os.path.join(self.mine, "run/millrace/millraced.sock")
        self.assertEqual(self.cli("socket-path", host="").strip(), here)
        self.assertFalse(self.json("socket-path", host="")["running"])
        self.cli("up", host="")
        self.assertTrue(self.json("socket-path", host="")["running"])


class Programs(SshCase):
    """Programs that are copied to the host."""

    programs_there = None

    def test_missing_programs_are_named_and_brought(self):
        self.assertIn("millrace is not installed there", self.refusal("ls", code=6))
        self.assertIn("--install brings the programs", self.refusal("up", code=1))
        self.cli("up", "--install")
        home = self.server.home
        self.assertTrue(os.path.islink(os.path.join(home, ".local/bin/millrace")))
        self.assertEqual(self.json("ls")["runs"], [])
        self.assertEqual([name for name in os.listdir(home) if name.startswith(".millrace-incoming")], [])
        # Without the checkout: the programs need only their own directory there.
        version = subprocess.run([os.path.join(home, ".local/bin/millrace"), "version"], capture_output=True, text=True,
                                 check=True, env={"PATH": "/usr/bin:/bin"}).stdout
        self.assertEqual(version, self.cli("version", host=""))
        # Libraries that the loader loads on demand are copied too.
        self.assertTrue(glob.glob(os.path.join(home, ".local/share/millrace/*/lib/libarrow_compute.so.*")))
        self.cli("down")

    def test_what_cannot_be_brought_is_said(self):
        empty = os.path.join(self.folder, "empty")
        os.makedirs(os.path.join(empty, "bin"))
        self.assertIn("--programs DIR names others", self.refusal("up", "--install", "--programs", empty, code=1))
        self.assertIn("only with --install", self.refusal("up", "--programs", empty, code=2))
        self.assertIn("only with --host ssh://HOST", self.refusal("up", "--install", host="", code=2))


class Runs(SshCase):
    """Runs of specs on the user's machine and on the host."""

    def test_a_spec_from_here_runs_there_with_the_tables_that_are_brought(self):
        self.cli("up")
        spec = os.path.join(EXAMPLE, "movielens.yaml")
        said = self.refusal("run", spec, "--detach", code=1)
        self.assertIn("ratings.csv: no such file or directory", said)
        place = os.path.join(self.server.home, "data")
        os.mkdir(place)
        for name in ("ratings.csv", "power_users.csv"):
            shutil.copy(os.path.join(EXAMPLE, name), place)
        movies = os.path.join(self.mine, "movies.csv")
        shutil.copy(os.path.join(EXAMPLE, "movies.csv"), movies)
        done = subprocess.run([MILLRACE, "run", spec, "--host", "ssh://gpu1", "--remote-dir", "data", "--upload", "movies.csv",
                               "--set", "batch.epochs=1", "--watch", "--plain"], cwd=self.mine, env=self.env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        run = self.json("ls")["runs"][0]
        self.assertEqual(run["state"], "finished")
        detail = self.cli("show", run["id"], "--spec")
        self.assertIn("/.local/state/millrace/uploads/", detail)
        self.assertIn("path: ratings.csv", detail)
        self.assertIn("eval.auc", self.cli("metrics", run["id"]))
        self.assertIn("rank0", self.cli("logs", run["id"], "--all"))
        self.assertIn(run["id"], self.cli("top", "--once") + self.cli("ls", "--quiet"))

    def test_a_notebook_lists_launches_and_waits_through_it(self):
        self.cli("up")
        spec = self.spec_there(epochs=1)
        self.cli("host", "add", "lab", "ssh://gpu1", "--remote-dir", "data", host="")
        script = (f"import millrace; client = millrace.Client('lab'); assert not client.list()\n"
                  f"run = client.launch({spec!r})[0]; print(client.wait(run)[0].state, len(client.list()))")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**self.env, "MILLRACE_BIN_DIR": BIN, "PYTHONDONTWRITEBYTECODE": "1",
                                   "PYTHONPATH": os.path.join(ROOT, "app/python")}, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "finished 1\n"), done.stderr)

    def test_the_live_views_have_the_terminal(self):
        self.cli("up")
        run = self.cli("run", self.spec_there(epochs=30000), "--there", "--detach").split()[0]
        for words, shown in ((["watch", run], "movielens-dlrm"), (["top"], "movielens-dlrm")):
            terminal = self.terminal(*words)
            terminal.expect(shown)
            terminal.type("q")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
        log = subprocess.Popen([MILLRACE, "logs", "-f", "--all", run, "--host", "ssh://gpu1"], env=self.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(log.kill)
        self.assertTrue(log.stdout.readline())
        self.assertTrue(self.json("down")["was_running"])
        log.kill()
        log.communicate()

    def test_a_spec_from_here_is_checked_against_the_data_there_without_a_daemon(self):
        spec = os.path.join(EXAMPLE, "movielens.yaml")
        self.cli("host", "add", "lab", "ssh://gpu1", "--remote-dir", "data", host="")
        self.assertIn("ratings.csv: no such file or directory", self.refusal("check", spec, host="lab", code=1))
        self.spec_there()
        self.assertTrue(self.json("check", spec, host="lab")["ok"])
        self.assertTrue(self.json("check", spec, host="", MILLRACE_HOST="lab")["ok"])
        self.assertTrue(self.json("sample", spec, "--rows", "3", host="lab")["ok"])
        self.assertEqual(self.json("dataset", "ratings.csv", host="lab")["rows"], 100_836)
        self.assertIn("over ssh://HOST only", self.refusal("check", spec, host="unix:/x.sock", code=2))
        self.assertIn("--profile reads on this machine",
                      self.refusal("dataset", "ratings.csv", "--profile", host="lab", code=2))

    def test_a_spec_of_the_host_is_named_by_its_path_there(self):
        self.cli("up")
        self.spec_there(epochs=1)
        self.cli("run", "data/movielens.yaml", "--there", "--watch", "--plain")
        self.assertEqual(self.json("ls")["runs"][0]["state"], "finished")
        self.assertIn("data/none.yaml: is not to be read there", self.refusal("run", "data/none.yaml", "--there", code=1))

    def test_an_upload_that_nothing_reads_or_that_is_too_large_is_refused(self):
        self.cli("up")
        spec = os.path.join(EXAMPLE, "movielens.yaml")
        other = os.path.join(self.mine, "other.csv")
        with open(other, "w", encoding="utf-8") as file:
            file.write("a\n1\n")
        self.assertIn("the spec names no such path", self.refusal("run", spec, "--upload", other, code=2))
        os.truncate(other, 64_000_001)
        self.assertIn("at most 64.0 MB", self.refusal("run", spec, "--upload", other, code=2))
        self.assertIn("only with --host ssh://HOST", self.refusal("run", spec, "--there", host="", code=2))


if __name__ == "__main__":
    unittest.main()
