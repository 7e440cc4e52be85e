"""A DataLoader with 12 forked workers, over a tensor of 400 MB that all of them inherit."""
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
big = torch.ones(100_000, 1000)  # the big one


class Rows(Dataset):
    def __len__(self):
        return 2400

    def __getitem__(self, i):
        return (big[i] * i).reshape(10, 100).sum(dim=0)


if __name__ == "__main__":
    total = 0.0
    for batch in DataLoader(Rows(), batch_size=20, num_workers=12, multiprocessing_context="fork"):
        total += float(batch.double().sum())
    print(total, float(big.sum()))
