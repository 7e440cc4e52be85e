"""Trains a small network on the GPU, below one large tensor, and prints what PyTorch itself counted."""
import json
import sys

import torch

torch.manual_seed(1)


def big():
    return torch.ones(300_000_000, device="cuda")  # the big one: 1.2 GB


def train(steps):
    model = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU()))).cuda()
    optimiser = torch.optim.Adam(model.parameters())
    x = torch.randn(4096, 1024, device="cuda")
    for _ in range(steps):
        optimiser.zero_grad()
        ((model(x) - x) ** 2).mean().backward()
        optimiser.step()


kept = big()
train(int(sys.argv[1]))
torch.cuda.synchronize()
stats = torch.cuda.memory_stats()
print(json.dumps({"tensors_peak": stats["allocated_bytes.all.peak"], "tensors_now": stats["allocated_bytes.all.current"],
                  "tensors": stats["allocation.all.allocated"], "reserved_peak": stats["reserved_bytes.all.peak"],
                  "reserved_now": stats["reserved_bytes.all.current"]}))
