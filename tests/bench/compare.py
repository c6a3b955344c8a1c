#!/usr/bin/env python3
"""Runs bench/compare.sh without PyTorch for one short round, and checks its table.

  compare.py SOURCE BUILD PEERS LAUNCH ...     LAUNCH: the start of an mpirun command
"""

import json
import os
import subprocess
import sys
import tempfile


def main():
    source, build, peers, *launch = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.json")
        run = subprocess.run(
            [f"{source}/bench/compare.sh", "--build", build, "--peers", peers, "--python", "none",
             "--launch", " ".join(launch), "--jobs", "loop operations", "--ranks", "1",
             "--runs", "2", "--epochs", "1", "--json", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            check=False)
        print(run.stdout, run.stderr)
        assert run.returncode == 0, f"exit status {run.returncode}"
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]

    loops = [row["program"] for row in rows if row["job"] == "loop"]
    assert loops[:2] == ["lockstep", "written by hand"], rows
    assert not any("PyTorch" in row["program"] for row in rows), rows
    assert any(row["job"] == "gelu_tanh" for row in rows), rows
    own, other = rows[:2]
    for row in rows:
        assert row["runs"] == 2 and 0 < row["lowest"] <= row["median"] <= row["highest"], row
    low, high = own["lowest"] / other["highest"], own["highest"] / other["lowest"]
    assert low <= other["lockstep_to_it"] <= high and own["lockstep_to_it"] == 1, rows
    for row in rows:
        assert f"| {row['job']} | {row['ranks']} | {row['program']} |" in run.stdout, row
    assert "PyTorch is left out" in run.stderr, run.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
