#!/usr/bin/env python3
"""Subjects of commits: `room: Verb ...`, an imperative from VERBS, at most 72 characters.

  commits.py [--root DIR]

Checks the commits after SINCE. If the history does not reach SINCE (a shallow clone, an archive) it checks nothing.
Exit code 0: kept, or not checked; 1: offences, one a line.
"""
import argparse
import pathlib
import re
import subprocess
import sys

SINCE = "0f616e8d1f51fbce620b0f0d696f01701b5849a2"
LONGEST = 72
ROOMS = re.compile(r"[a-z0-9_/.-]+(?:, [a-z0-9_/.-]+)*: ")
VERBS = frozenset("""
    Accept Add Admit Adopt Align Allow Answer Apply Ask Assert Avoid Back Batch Begin Benchmark Bind Block Bound Build Bump Cache Call Cancel Cap
    Carry Catch Change Check Choose Cite Clean Clear Close Collect Color Compare Compile Complete Compress Compute Configure Connect Copy
    Correct Count Cover Create Cut Deal Debounce Decide Declare Decode Default Define Delay Delete Deliver Deny Describe Detect Disable
    Divide Document Download Draw Drop Edit Emit Enable Encode End Enforce Ensure Escape Estimate Evaluate Evict Exclude Expand Expect Explain
    Export Expose Extend Extract Fail Fall Fetch Fill Filter Find Finish Fit Fix Flush Fold Follow Force Format Free Freeze Gather Generate
    Give Grant Group Guard Guess Handle Hash Hide Hold Ignore Implement Import Improve Include Increase Index Inline Install Interrupt
    Invite Join Judge Keep Kill Label Launch Lay Lease Leave Let Lift Limit Link List Load Lock Log Look Lower Make Map Mark Match Measure
    Merge Migrate Mirror Mock Model Move Name Normalise Note Notify Number Offer Omit Open Order Overlap Pack Pad Parse Pass Pause Pin Place Point
    Poll Prefer Prepare Preserve Prevent Print Prune Publish Put Queue Quote Raise Rank Read Rebuild Receive Recognise Reconnect Record Recover Reduce
    Refresh Refuse Register Reject Release Reload Remember Remove Rename Render Reorder Repair Repeat Replace Report Require Reserve Reset
    Resolve Restart Restore Restrict Resume Retry Return Reuse Revert Review Rewrite Round Route Run Sample Save Say Scan Schedule Score
    Seal Search See Select Send Separate Serve Set Shape Share Show Shrink Shut Shuffle Sign Simplify Simulate Skip Sort Split Spread Stage Start
    State Stop Store Stream Strip Submit Support Survive Swap Switch Sync Tag Take Tell Test Throttle Tidy Time Track Train Translate Trim
    Truncate Try Tune Turn Unify Unlock Update Upgrade Upload Use Validate Verify Wait Wake Warn Watch Weigh Widen Work Wrap Write
""".split())


def offences(subjects):
    for subject in subjects:
        rooms = ROOMS.match(subject)
        if len(subject) > LONGEST:
            yield f"{subject}: {len(subject)} characters, {LONGEST} at most"
        elif rooms is None:
            yield f"{subject}: a subject begins with its room, as in 'cli: Add --name'"
        elif subject[rooms.end():].split(" ")[0] not in VERBS:
            yield f"{subject}: write an imperative after the room; tests/laws/commits.py lists the verbs"


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    root = parser.parse_args().root
    if git(root, "merge-base", "--is-ancestor", SINCE, "HEAD").returncode != 0:
        print(f"no history back to {SINCE[:8]}: not checked")
        return 0
    subjects = git(root, "log", "--no-merges", "--format=%s", f"{SINCE}..HEAD").stdout.splitlines()
    found = [one for one in offences(subjects) if not one.startswith("Revert ")]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
