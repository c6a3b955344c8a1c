#!/usr/bin/env python3
"""Writes rows.inc: PyTorch's results for the operations on rows, in the format that make_golden.py
describes. `labels` are the indices of an embedding.

    python3 tests/golden/make_rows.py        (needs PyTorch; rewrites rows.inc beside it)
"""

import torch
import torch.nn.functional as F

from make_golden import Random, operation, write

INF = float("inf")


def softmaxes():
    r = Random(11)
    places = (((), -1), ((7,), -1), ((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((2, 35), 1),
              ((2, 3, 19), 1), ((1, 1), 0), ((0, 3), 1), ((3, 0, 2), 1), ((2, 3, 2, 2), -3))
    far = torch.tensor([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, -1000.0], [999, 1000, -INF],
                        [-INF, -INF, -INF], [0, float("nan"), 1], [INF, 0, -INF]])
    lines = []
    for name, function in {"softmax": torch.softmax, "log_softmax": torch.log_softmax}.items():
        for shape, axis in places:
            lines += operation(
                f"{name}_{'x'.join(map(str, shape)) or 'scalar'}_along_{axis}",
                lambda x, f=function, axis=axis: f(x, axis), [r.tensor(*shape, scale=3.0)], None,
                [("axis", axis)])
        lines += operation(f"{name}_far", lambda x, f=function: f(x, -1), [far], None,
                           [("axis", -1)])
        lines += operation(f"{name}_far_columns", lambda x, f=function: f(x, 0),
                           [far.t().contiguous()], None, [("axis", 0)])
    return lines


def layer_norms():
    r = Random(12)
    cases = (((5, 7), 1, 1e-5), ((2, 3, 4), 2, 1e-5), ((4, 33), 1, 1e-2), ((2, 3, 4), 3, 1e-5),
             ((6,), 1, 1e-5), ((0, 3), 1, 1e-5), ((2, 0, 3), 2, 1e-5))
    lines = []
    for shape, axes, epsilon in cases:
        last = shape[len(shape) - axes:]
        name = f"layer_norm_{'x'.join(map(str, shape))}_over_{axes}"
        options = [("axes", axes), ("epsilon", epsilon)]

        def norm(x, weight=None, bias=None, last=last, epsilon=epsilon):
            return F.layer_norm(x, last, weight, bias, epsilon)

        x, weight, bias = r.tensor(*shape, scale=2.0) + 1, r.tensor(*last) + 1, r.tensor(*last)
        lines += operation(name, norm, [x, weight, bias], None, options)
        lines += operation(f"{name}_nobias", norm, [x, weight], None, options)
        lines += operation(f"{name}_plain", norm, [x], None, options)
    odd = r.tensor(4, 5)
    odd[0], odd[1, 2], odd[2, 1] = 3.0, float("nan"), INF
    lines += operation("layer_norm_odd", lambda x, w, b: F.layer_norm(x, (5,), w, b),
                       [odd, r.tensor(5), r.tensor(5)], None, [("axes", 1), ("epsilon", 1e-5)])
    return lines


def embeddings():
    r = Random(13)
    cases = {
        "vector": ([3, 0, 3, 3, 1], (4, 5), None),
        "matrix": ([[2, 1, 2], [0, 2, 2]], (3, 4), None),
        "padding": ([[2, 1, 2], [0, 2, 1]], (3, 4), 2),
        "scalar": (1, (2, 3), None),
        "none": ([], (3, 2), None),
        "one": ([0], (1, 1), None),
        "narrow": ([1, 1, 0], (2, 0), None),
    }
    lines = []
    for name, (indices, shape, padding) in cases.items():
        lines += operation(f"embedding_{name}",
                           lambda weight, i, p=padding: F.embedding(i, weight, p),
                           [r.tensor(*shape)], torch.tensor(indices, dtype=torch.int64),
                           [] if padding is None else [("padding", padding)])
    return lines


def smoothed_losses():
    r = Random(14)
    far = torch.tensor([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, -1000.0], [0, 1000, 999]])
    cases = {
        "plain": (r.tensor(5, 7, scale=3.0), [0, 6, 3, 3, 1], 0.1),
        "one_class": (r.tensor(2, 1), [0, 0], 0.3),
        "even": (r.tensor(3, 4), [0, 1, 3], 1.0),
        "ignored": (r.tensor(4, 3), [1, -100, 2, -100], 0.25),
        "all_ignored": (r.tensor(3, 3), [-100, -100, -100], 0.25),
        "far": (far, [1, 0, 2], 0.5),
        "wide": (r.tensor(2, 33, scale=10.0), [32, 0], 0.1),
    }
    lines = []
    for reduction in ("mean", "sum"):
        for name, (logits, labels, smoothing) in cases.items():
            lines += operation(
                f"smoothed_{reduction}_{name}",
                lambda x, t, s=smoothing, reduction=reduction: F.cross_entropy(
                    x, t, reduction=reduction, label_smoothing=s), [logits], torch.tensor(labels),
                [("reduction", reduction), ("smoothing", smoothing)])
    return lines


if __name__ == "__main__":
    write("rows.inc", softmaxes() + layer_norms() + embeddings() + smoothed_losses())
