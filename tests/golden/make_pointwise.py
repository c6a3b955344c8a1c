#!/usr/bin/env python3
"""Writes pointwise.inc as make_golden.py writes operations.inc: PyTorch's results for elementwise
functions, quotients, and the losses of pairs.

    python3 tests/golden/make_pointwise.py        (rewrites pointwise.inc beside it)
"""

import torch
import torch.nn.functional as F

from make_golden import Random, operation, write

NAN, INFINITY = float("nan"), float("inf")
FUNCTIONS = {
    "abs": torch.abs, "exp": torch.exp, "gelu": F.gelu, "log": torch.log,
    "sigmoid": torch.sigmoid, "silu": F.silu, "sqrt": torch.sqrt, "tanh": torch.tanh,
    "clamp": lambda x: torch.clamp(x, -1.5, 2.0),
}
POWERS = (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.75, 3.0)


def functions():
    r = Random(11)
    lines = []
    for name, function in FUNCTIONS.items():
        odd = r.tensor(41, scale=3.0)
        odd[3], odd[7], odd[11] = NAN, 0.0, -0.0
        if name not in ("gelu", "silu"):  # NaN at infinity there, where others have the limit
            odd[17], odd[18] = INFINITY, -INFINITY
        lines += operation(name, function, [odd])
        lines += operation(f"{name}_empty", function, [r.tensor(0, 3)])
        lines += operation(f"{name}_scalar", function, [r.tensor()])
    for power in POWERS:
        odd = r.tensor(23, scale=3.0)
        odd[3], odd[7], odd[11], odd[12], odd[13] = NAN, 0.0, -0.0, INFINITY, 1.0
        options = [("exponent", power)]
        lines += operation(f"pow_{power}", lambda x, p=power: x ** p, [odd], None, options)
    return lines


def quotients():
    r = Random(12)
    shapes = {
        "same": ((3, 5), (3, 5)), "row": ((3, 5), (5,)), "column": ((3, 5), (3, 1)),
        "row_first": ((4,), (2, 3, 4)), "both": ((3, 1), (1, 7)), "scalar": ((2, 3), ()),
        "of_scalar": ((), (4,)), "empty": ((0, 3), (1, 3)),
    }
    lines = []
    for name, (a, b) in shapes.items():
        lines += operation(f"div_{name}", torch.div, [r.tensor(*a), r.tensor(*b)])
    lines += operation("div_zero", torch.div, [torch.tensor([1.0, 0.0, -2.0]), torch.zeros(3)])
    lines += operation("div_by_number", lambda x: x / 0.7, [r.tensor(3, 3)])
    lines += operation("div_of_number", lambda x: 0.7 / x, [r.tensor(3, 3)])
    return lines


def losses():
    r = Random(13)
    lines = []
    for reduction in ("mean", "sum"):
        for shape in ((), (7,), (3, 5), (0,)):
            shape_name = "x".join(map(str, shape)) or "scalar"
            name = f"{reduction}_{shape_name}"
            pair = [r.tensor(*shape, scale=2.0), r.tensor(*shape, scale=2.0)]
            logits, targets = r.tensor(*shape, scale=4.0), r.tensor(*shape).sigmoid()
            chosen = [("reduction", reduction)]
            for weight in (1.0, 2.5):
                lines += operation(
                    f"bce_{name}_{weight}",
                    lambda x, t, w=weight: F.binary_cross_entropy_with_logits(
                        x, t, reduction=reduction, pos_weight=torch.tensor(w, dtype=x.dtype)),
                    [logits, targets], None, [*chosen, ("weight", weight)])
            for delta in (1.0, 0.375):
                lines += operation(
                    f"huber_{name}_{delta}",
                    lambda x, t, d=delta: F.huber_loss(x, t, reduction=reduction, delta=d),
                    pair, None, [*chosen, ("delta", delta)])
            equal = [pair[0], torch.where(pair[1] > 1, pair[0], pair[1])]
            lines += operation(f"l1_{name}",
                               lambda x, t: F.l1_loss(x, t, reduction=reduction), equal, None,
                               chosen)
    far = torch.tensor([1000.0, -1000.0, 1000.0, -1000.0, 0.0])
    targets = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.5])
    lines += operation("bce_far", F.binary_cross_entropy_with_logits, [far, targets], None,
                       [("reduction", "mean"), ("weight", 1.0)])
    return lines


if __name__ == "__main__":
    write("pointwise.inc", functions() + quotients() + losses(), "make_pointwise.py")
