#!/usr/bin/env python3
"""The table of bench/compare.sh: reads one run a line (job, ranks, program, result line, with tabs
between) and prints medians, ranges and ratios as markdown; with --json also for programs.

The ratio says how much faster lockstep is, run by run: above 1 it is the faster one.
"""

import argparse
import json
import os
import statistics
import sys

OWN = "lockstep"


def measurements(line):
    """What a result line says about speed: (name of the measurement, unit, value)."""
    for word in line.split()[1:]:
        key, _, value = word.partition("=")
        if key == "samples_per_second":
            yield "", "samples/s", float(value)
        elif key.endswith("_us"):
            yield key[:-len("_us")], "us", float(value)


def read_runs(path):
    """(job, ranks, unit) -> program -> values in the order of the runs."""
    table = {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            job, ranks, program, line = text.rstrip("\n").split("\t")
            for name, unit, value in measurements(line):
                programs = table.setdefault((name or job, int(ranks), unit), {})
                programs.setdefault(program, []).append(value)
    return table


def ratio_of(own, other, unit):
    """Median over the runs of lockstep's speed to the other's; None where one is missing."""
    pairs = list(zip(own, other))
    if not pairs:
        return None
    return statistics.median(b / a if unit == "us" else a / b for a, b in pairs)


def rows_of(table):
    for (job, ranks, unit), programs in table.items():
        for program, values in programs.items():
            yield {"job": job, "ranks": ranks, "program": program, "unit": unit,
                   "median": statistics.median(values), "lowest": min(values),
                   "highest": max(values), "runs": len(values),
                   "lockstep_to_it": ratio_of(programs.get(OWN, []), values, unit)}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else "unknown", "cores": os.cpu_count(),
            "load_at_end": round(os.getloadavg()[0], 2)}


def markdown(where, rows):
    yield ", ".join(f"{key} {value}" for key, value in where.items())
    yield ""
    yield "| job | ranks | program | unit | median | range | runs | lockstep to it |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        ratio = row["lockstep_to_it"]
        yield (f"| {row['job']} | {row['ranks']} | {row['program']} | {row['unit']} "
               f"| {row['median']:.0f} | {row['lowest']:.0f} to {row['highest']:.0f} "
               f"| {row['runs']} | {'' if ratio is None else f'{ratio:.2f}'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs")
    parser.add_argument("--json")
    options = parser.parse_args()
    where, rows = machine(), list(rows_of(read_runs(options.runs)))
    print("\n".join(markdown(where, rows)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": where, "rows": rows}, file, indent=2)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
