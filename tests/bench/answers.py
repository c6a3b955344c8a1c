#!/usr/bin/env python3
"""Runs a benchmark with small sizes, and checks its answers and both forms of its output.

  answers.py NAME RESULT command ...     RESULT: what the last line says, a regular expression
"""

import json
import os
import re
import subprocess
import sys
import tempfile

# What belongs to the time of a row: column -> its value.
RATES = {
    "adam": ("GB/s", lambda row, settings:
             (28 if row["what"] == "adam" else 16) * row["parameters"] / row["us"] * 1e-3),
    "linear": ("GFLOP/s", lambda row, settings:
               6 * row["rows"] * settings["features"] ** 2 / row["us"] * 1e-3),
    "loader": ("GB/s", lambda row, settings: row["samples/s"] * settings["features"] * 4e-9),
    "operations": ("elements/s", lambda row, settings:
                   settings["rows"] * settings["columns"] / row["us"] * 1e6),
    "tape": ("beyond", lambda row, settings: row["us each"] - row["arithmetic"]),
}


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=False)
    print(done.stdout)
    assert done.returncode == 0, f"exit status {done.returncode}"
    return done.stdout.splitlines()


def check_rows(name, rows, settings):
    assert rows
    for row in rows:
        assert row["#wrong"] == 0, row
        assert row.get("allocations", 0) == 0, row
        if name in RATES:
            column, rate = RATES[name]
            expected = rate(row, settings)
            assert abs(row[column] - expected) <= 1e-9 * abs(expected), row


def main():
    name, result, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.json")
        lines = run(command + ["--json", path])
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    assert content["benchmark"] == name
    assert content["machine"]["cores"] >= 1 and content["machine"]["lockstep"]
    check_rows(name, content["rows"], content["settings"])
    titles = next(i for i, line in enumerate(lines) if "#wrong" in line)
    assert len(lines) - titles - 2 == len(content["rows"]), "the table on the screen has other rows"
    assert re.fullmatch("result " + result, lines[-1]), lines[-1]
    assert "--repetitions" in "\n".join(run(command[:1] + ["--help"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
