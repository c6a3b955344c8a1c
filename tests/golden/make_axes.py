#!/usr/bin/env python3
"""Writes axes.inc, PyTorch's results for the operations along axes and for batched products, in the
format that make_golden.py describes.

    python3 tests/golden/make_axes.py
"""

import torch

from make_golden import Random, operation, write


def listed(values):
    return ",".join(str(value) for value in values)


def layouts():
    r = Random(11)
    lines = []
    for shape, a, b in (((3, 5), 0, 1), ((2, 3, 4), 0, 2), ((2, 3, 4), -1, 1), ((2, 3, 4, 2), 1, 2),
                        ((1, 7), 0, 1), ((0, 3), 0, 1), ((6,), 0, 0), ((17, 35), 0, 1)):
        name = "x".join(map(str, shape)) + f"_{a}_{b}"
        lines += operation(f"transpose_{name}", lambda x, a=a, b=b: x.transpose(a, b),
                           [r.tensor(*shape)], None, [("axes", listed((a, b)))])
    for shape, order in (((2, 3, 4), (2, 0, 1)), ((2, 3, 4, 5), (0, 2, 3, 1)),
                         ((2, 3, 4, 5), (-1, 1, 0, 2)), ((1, 2, 1, 3), (3, 2, 0, 1))):
        lines += operation(f"permute_{listed(order)}", lambda x, order=order: x.permute(order),
                           [r.tensor(*shape)], None, [("axes", listed(order))])
    for shape, axis, begin, end, step in (
            ((7,), 0, 2, 5, 1), ((4, 6), 1, -3, 100, 1), ((4, 6), 0, -100, -1, 2),
            ((2, 5, 3), 1, 1, 5, 3), ((2, 5, 3), -1, 0, 3, 2), ((3, 4), 1, 3, 1, 1),
            ((0, 4), 1, 1, 3, 1)):
        def part(x, axis=axis, begin=begin, end=end, step=step):
            index = [slice(None)] * x.dim()
            index[axis] = slice(begin, end, step)
            return x[tuple(index)]
        name = "x".join(map(str, shape)) + f"_{axis}_{begin}_{end}_{step}"
        lines += operation(f"slice_{name}", part, [r.tensor(*shape)], None,
                           [("axes", str(axis)), ("range", listed((begin, end, step)))])
    for shapes, axis in ((((2, 3), (4, 3)), 0), (((2, 3), (2, 1), (2, 4)), 1), (((3,),), 0),
                         (((2, 3, 2), (2, 0, 2), (2, 1, 2)), -2)):
        name = "_".join("x".join(map(str, shape)) for shape in shapes)
        lines += operation(f"concatenate_{name}", lambda *x, axis=axis: torch.cat(x, axis),
                           [r.tensor(*shape) for shape in shapes], None, [("axes", str(axis))])
    for axis in (0, 1, -1):
        lines += operation(f"stack_{axis}", lambda *x, axis=axis: torch.stack(x, axis),
                           [r.tensor(2, 3) for _ in range(3)], None, [("axes", str(axis))])
    return lines


def reductions():
    r = Random(12)
    lines = []
    for name, function in {"sum": torch.sum, "mean": torch.mean}.items():
        for shape, axes in (((3, 5), (0,)), ((3, 5), (-1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (1, 2)),
                            ((2, 3, 4, 5), (-1, 0, 2)), ((2, 1, 3), (1,)), ((2, 0, 3), (1,)),
                            ((0, 3), (1,)), ((2, 0, 3), (0, 2)), ((2, 3, 0), (0, 2)), ((7,), (0,))):
            for keep in (False, True):
                lines += operation(
                    f"{name}_{'x'.join(map(str, shape))}_{listed(axes)}_{keep}",
                    lambda x, f=function, axes=axes, keep=keep: f(x, axes, keepdim=keep),
                    [r.tensor(*shape)], None, [("axes", listed(axes)), ("keep", int(keep))])
    for name, function in {"max": torch.max, "min": torch.min}.items():
        for shape, axis in (((7,), 0), ((3, 5), 0), ((3, 5), -1), ((2, 3, 4), 1), ((0, 3), 1),
                            ((4, 1), 1), ((2, 9, 3), 1), ((2, 37), 1)):
            for keep in (False, True):
                x = torch.floor(r.tensor(*shape) * 2)  # many equal ones
                if x.numel() > 30:
                    x.view(-1)[17] = float("nan")
                    x.view(-1)[20] = float("nan")
                    x.view(-1)[29] = float("inf")
                lines += operation(
                    f"{name}_{'x'.join(map(str, shape))}_{axis}_{keep}",
                    lambda x, f=function, axis=axis, keep=keep: f(x, axis, keepdim=keep).values,
                    [x], None, [("axes", str(axis)), ("keep", int(keep))])
    return lines


def products():
    r = Random(13)
    lines = []
    for a, b in (((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
                 ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((2, 1, 2, 3), (3, 3, 2)),
                 ((2, 3, 2, 3), (2, 3, 3, 4)), ((2, 3, 2, 3), (2, 1, 3, 4)),
                 ((3, 1, 2, 3), (1, 2, 3, 2)), ((0, 3, 4), (0, 4, 5)), ((2, 3, 0), (2, 0, 5)),
                 ((2, 0, 4), (4, 5)), ((1, 1, 1), (1, 1, 1))):
        name = "x".join(map(str, a)) + "_" + "x".join(map(str, b))
        lines += operation(f"matmul_{name}", torch.matmul, [r.tensor(*a), r.tensor(*b)])
    return lines


if __name__ == "__main__":
    write("axes.inc", layouts() + reductions() + products())
