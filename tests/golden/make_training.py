#!/usr/bin/env python3
"""Writes training.inc: PyTorch's learning rates, and its modules that are made of others.

    python3 tests/golden/make_training.py

Lines as in make_golden.py. A schedule's output is (steps, groups): the rates of each step. A
module's inputs are x and its parameters, in the order of the option `names`.
"""

import torch
from torch import nn
from torch.optim import lr_scheduler

from make_golden import Random, operation, result, write

RATES = (0.1, 0.02)
STEPS = 40


def schedule(name, options, make):
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": rate} for rate in RATES]
    optimizer = torch.optim.SGD(groups)
    scheduler = make(optimizer)
    rates = []
    for _ in range(STEPS):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    lines = [f"case {name}", *(f"option {key} {value}" for key, value in options.items())]
    return [*lines, result("output", torch.tensor(rates, dtype=torch.float64))]


def step_decay(period, factor):
    return schedule("step_decay", {"period": period, "factor": factor},
                    lambda optimizer: lr_scheduler.StepLR(optimizer, period, factor))


def cosine(warm_up, start, minimum):
    def make(optimizer):
        falling = lr_scheduler.CosineAnnealingLR(optimizer, STEPS - warm_up, minimum)
        if warm_up == 0:
            return falling
        rising = lr_scheduler.LinearLR(optimizer, start, total_iters=warm_up)
        return lr_scheduler.SequentialLR(optimizer, [rising, falling], [warm_up])

    options = {"steps": STEPS, "warm_up": warm_up, "warm_up_start": start, "minimum": minimum}
    return schedule("cosine", options, make)


class Residual(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return x + self.block(x)


def module(name, made, x):
    made.eval()
    r = Random(7)
    names = [key for key, _ in made.named_parameters()]
    values = [r.tensor(*value.shape, scale=0.5) for _, value in made.named_parameters()]

    def call(x, *parameters):
        return torch.func.functional_call(made, dict(zip(names, parameters)), (x,))

    return operation(name, call, [x, *values], options=[("names", ",".join(names))])


def modules():
    r = Random(6)
    plain = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 4), nn.GELU(),
                          nn.Linear(4, 3))
    dropped = nn.Sequential(nn.Linear(5, 7, bias=False), nn.ReLU(), nn.Dropout(0.25),
                            nn.Linear(7, 3, bias=False))
    block = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4))
    stacked = nn.Sequential(Residual(block), nn.ReLU(), nn.Linear(4, 2))
    lines = module("mlp", plain, r.tensor(6, 5)) + module("mlp_dropout", dropped, r.tensor(1, 5))
    return lines + module("residual", stacked, r.tensor(2, 3, 4))


if __name__ == "__main__":
    write("training.inc", step_decay(7, 0.5) + step_decay(1, 0.9) + step_decay(100, 0.1)
          + cosine(0, 1.0, 0.0) + cosine(10, 1 / 3, 0.001) + cosine(1, 0.125, 0.0) + modules())
