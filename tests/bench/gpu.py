#!/usr/bin/env python3
"""Runs the benchmark of one GPU with small sizes, and checks its answers and both forms of its
output.

  gpu.py PARAMETERS LARGEST command ...
"""

import json
import os
import re
import subprocess
import sys
import tempfile

LINEAR = ["linear float32", "linear TF32", "linear float64"]


def check_rows(rows, parameters, largest):
    """Every size of everything, each right, with a rate that belongs to its time."""
    sizes = [parameters // 16, parameters // 4, parameters]
    layers = [n for n in (largest // 8, largest // 4, largest // 2, largest) if n >= 16]
    assert [(row["what"], row["size"]) for row in rows] == \
        [(what, size) for size in sizes for what in ("copy", "adam")] + \
        [(what, n) for what in LINEAR for n in layers], rows
    copy = None
    for row in rows:
        assert row["#wrong"] == 0, row
        size = row["size"]
        if row["unit"] == "TFLOP/s":
            expected = 2 * size ** 3 / row["us"] * 1e-6
        else:
            expected = (8 if row["what"] == "copy" else 28) * size / row["us"] * 1e-3
            copy = row["rate"] if row["what"] == "copy" else copy
            assert abs(row["to copy"] * copy - row["rate"]) <= 1e-9 * row["rate"], row
        assert abs(row["rate"] - expected) <= 1e-9 * expected, row


def main():
    parameters, largest, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpu.json")
        run = subprocess.run(
            command + ["--repetitions", "1", "--parameters", str(parameters), "--largest",
                       str(largest), "--json", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        print(run.stdout)
        assert run.returncode == 0, f"exit status {run.returncode}"
        with open(path, encoding="utf-8") as file:
            content = json.load(file)

    assert content["benchmark"] == "gpu" and content["settings"]["device"] == "cuda:0"
    check_rows(content["rows"], parameters, largest)
    number = r"[0-9]+\.[0-9]+"
    last = run.stdout.splitlines()[-1]
    assert re.fullmatch(f"result device=cuda:0 wrong=0 adam_to_copy={number} "
                        f"best_tflops={number}", last), last
    return 0


if __name__ == "__main__":
    sys.exit(main())
