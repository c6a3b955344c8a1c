#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over Gloo, doing what examples/multi_gpu_loop (--job loop) and
examples/fashion_mnist (--job fashion_mnist) do. Starts alone or under mpirun; data is in memory.

--tuned takes Adam's fused pass, where PyTorch has one for CPUs. Threads and malloc are the
environment's to set.
"""

import argparse
import gzip
import os
import statistics
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

BATCH = 32


def read_idx(path, header):
    """The bytes of an IDX file behind its header, gzip'ed or not."""
    reader = open if os.path.exists(path) else gzip.open
    with reader(path if reader is open else path + ".gz", "rb") as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


def read_part(folder, part):
    images = read_idx(f"{folder}/{part}-images-idx3-ubyte", 16).reshape(-1, 784).float() / 255
    return images, read_idx(f"{folder}/{part}-labels-idx1-ubyte", 8).long()


def network(inputs):
    return nn.Sequential(nn.Linear(inputs, 512), nn.ReLU(), nn.Linear(512, 10))


def adam(model, tuned):
    fused = tuned and tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 4)
    return torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if fused else {}))


def epoch_of(model, optimizer, order, loss_of):
    for first in range(0, len(order), BATCH):
        loss = loss_of(model, order[first:first + BATCH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", choices=["loop", "fashion_mnist"], default="loop")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--tuned", action="store_true")
    options = parser.parse_args()

    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
    ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(0)

    if options.job == "loop":
        inputs = torch.randn(10_000, 1000)
        def loss_of(model, rows):
            return model(inputs[rows]).mean()
    else:
        inputs, labels = read_part(options.data, "train")
        def loss_of(model, rows):
            return nn.functional.cross_entropy(model(inputs[rows]), labels[rows])
    model = DistributedDataParallel(network(inputs.shape[1]), gradient_as_bucket_view=True)
    optimizer = adam(model, options.tuned)
    sampler = DistributedSampler(range(len(inputs)), ranks, rank, shuffle=True)
    rates = []
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        start = time.perf_counter()
        loss = epoch_of(model, optimizer, torch.tensor(list(sampler)), loss_of)
        rates.append(len(inputs) / (time.perf_counter() - start))

    rate = statistics.median(rates)
    result = f"result ranks={ranks} samples_per_second={rate:.0f} loss={loss:.6f}"
    if options.job == "fashion_mnist":
        images, expected = read_part(options.data, "t10k")
        with torch.no_grad():
            right = (model.module(images).argmax(1) == expected).float().mean().item()
        result += f" test_accuracy={right:.4f}"
    if rank == 0:
        print(result)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
