"""Machines in network namespaces: a bridge in this process's namespace, and a cable to each node.

All of it ends with this process: namespaces end with the processes that hold them, cables and bridge with their namespaces.
"""
import os
import subprocess
import sys

HEAD = "10.213.0.1"
SLOW = ("root", "tbf", "rate", "20mbit", "burst", "64kb", "latency", "100ms")


def may_have_networks():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


def enter_own_network():
    """Starts this program again in a new network namespace; returns if it is in one, or if none can be made."""
    if "CHAOS_NETWORK" in os.environ or not may_have_networks():
        return
    os.environ["CHAOS_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv])


class Network:
    """A cable to each of `nodes`. `prefix(node)` is the prefix of a command that runs there; "head" is this process's namespace."""

    def __init__(self, nodes):
        self.holders = {}
        self.addresses = {"head": HEAD}
        self.run("link", "set", "lo", "up")
        self.run("link", "add", "bridge0", "type", "bridge")
        self.run("addr", "add", f"{HEAD}/24", "dev", "bridge0")
        self.run("link", "set", "bridge0", "up")
        for number, node in enumerate(nodes, 2):
            # The process holds the namespace until its input ends, at the latest when this process ends.
            holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      env={"PATH": os.environ["PATH"]})  # does not count as the test's process
            self.holders[node] = holder
            self.addresses[node] = f"10.213.0.{number}"
            holder.stdin.write(b"!")
            holder.stdin.flush()
            holder.stdout.read(1)  # the namespace exists
            self.run("link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            self.run("link", "set", node, "master", "bridge0", "up")
            for words in (("link", "set", "lo", "up"), ("addr", "add", f"{self.addresses[node]}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
                subprocess.run([*self.prefix(node), "ip", *words], check=True)

    @staticmethod
    def run(*words, tool="ip"):
        subprocess.run([tool, *words], check=True, capture_output=True)

    def prefix(self, node):
        return [] if node == "head" else ["nsenter", "--net", "--target", str(self.holders[node].pid), "--"]

    def cut(self, node):
        self.run("link", "set", node, "down")

    def mend(self, node):
        self.run("link", "set", node, "up")

    def block(self, sender, receiver):
        """Drops everything that `sender` sends to `receiver`; the other direction stays. Both may be "head"."""
        subprocess.run([*self.prefix(sender), "ip", "route", "add", "blackhole", f"{self.addresses[receiver]}/32"], check=True)

    def unblock(self, sender, receiver):
        subprocess.run([*self.prefix(sender), "ip", "route", "del", "blackhole", f"{self.addresses[receiver]}/32"], check=True)

    def slow(self, node):
        self.run("qdisc", "replace", "dev", node, *SLOW, tool="tc")

    def hasten(self, node):
        self.run("qdisc", "del", "dev", node, "root", tool="tc")

    def close(self):
        for node, holder in self.holders.items():
            self.run("link", "del", node)  # the kernel ends a namespace later than its last process
            holder.stdin.close()
            holder.wait(10)
            holder.stdout.close()
        self.run("link", "del", "bridge0")
