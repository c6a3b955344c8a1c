#!/usr/bin/env python3
"""What bench/operations_bench measures, in PyTorch: operations on rows, forward and backward, one
thread, float32. Prints microseconds in a last line of the same form.
"""

import argparse
import statistics
import time

import torch
from torch.nn import functional

PARAMETERS = {}


def layer_norm(x):
    columns = x.shape[-1]
    weight, bias = PARAMETERS.setdefault(
        columns, (torch.ones(columns, requires_grad=True), torch.zeros(columns, requires_grad=True)))
    return functional.layer_norm(x, (columns,), weight, bias)


OPERATIONS = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "softmax": lambda x: functional.softmax(x, dim=-1),
    "log_softmax": lambda x: functional.log_softmax(x, dim=-1),
    "layer_norm": layer_norm,
}


def microseconds(operation, x, gradient, repetitions):
    taken = []
    for _ in range(repetitions + 2):
        x.grad = None
        start = time.perf_counter()
        operation(x).backward(gradient)
        taken.append(1e6 * (time.perf_counter() - start))
    return statistics.median(taken[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x = (torch.rand(options.rows, options.columns) * 2 - 1).requires_grad_()
    gradient = torch.rand(options.rows, options.columns) * 2 - 1
    times = {name: microseconds(operation, x, gradient, options.repetitions)
             for name, operation in OPERATIONS.items()}
    print("result " + " ".join(f"{name}_us={value:.1f}" for name, value in times.items()))


if __name__ == "__main__":
    main()
