#!/usr/bin/env python3
"""Runs the all-reduce benchmark and checks its answers and both forms of its output.

  all_reduce.py RANKS LARGEST_BYTES command ...
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ORDERS = ["fastest", "ranks", "plain MPI"]


def check_rows(rows, ranks, largest):
    """Every size in every order, each with the right sums and rates that belong to its time."""
    sizes = [4 ** power for power in range(1, 32) if 4 ** power <= largest]
    assert [(row["bytes"], row["order"]) for row in rows] == \
        [(size, order) for size in sizes for order in ORDERS], rows
    for row in rows:
        assert row["#wrong"] == 0, row
        rate = row["bytes"] / row["us"] * 1e-3
        assert abs(row["algbw GB/s"] - rate) <= 1e-9 * rate, row
        assert abs(row["busbw GB/s"] - rate * 2 * (ranks - 1) / ranks) <= 1e-9 * rate, row
    for first in range(0, len(rows), len(ORDERS)):
        plain = rows[first + len(ORDERS) - 1]["us"]
        for row in rows[first:first + len(ORDERS)]:
            assert abs(row["to plain"] * plain - row["us"]) <= 1e-9 * row["us"], row


def main():
    ranks, largest, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all_reduce.json")
        run = subprocess.run(
            command + ["--repetitions", "2", "--largest", str(largest), "--json", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        print(run.stdout)
        assert run.returncode == 0, f"exit status {run.returncode}"
        with open(path, encoding="utf-8") as file:
            content = json.load(file)

    assert content["benchmark"] == "all_reduce"
    assert content["machine"]["cores"] >= 1 and content["machine"]["lockstep"]
    assert content["settings"]["ranks"] == ranks and content["settings"]["repetitions"] == 2
    check_rows(content["rows"], ranks, largest)

    lines = run.stdout.splitlines()
    ratio = r"[0-9]+\.[0-9]+"
    assert re.fullmatch(f"result ranks={ranks} wrong=0 median_ratio_fastest={ratio} "
                        f"median_ratio_ranks={ratio}", lines[-1]), lines[-1]
    shown = [line for line in lines if re.match(r" *[0-9]+ +(fastest|ranks|plain MPI) ", line)]
    assert len(shown) == len(content["rows"]), "the table on the screen has other rows"
    return 0


if __name__ == "__main__":
    sys.exit(main())
