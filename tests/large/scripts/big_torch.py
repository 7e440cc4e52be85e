"""torch: a network trained for some steps, below a tensor of 300 MB."""
import torch

torch.manual_seed(1)
torch.set_num_threads(2)


def work():
    model = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())))
    optimiser = torch.optim.Adam(model.parameters())
    x = torch.randn(512, 64)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = ((model(x) - x) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    scripted = torch.jit.script(model)
    return losses[-1] < losses[0], tuple(scripted(x).shape), bool(torch.linalg.svd(x)[1][0] > 0)


big = torch.ones(75_000_000)  # the big one
print(work(), float(big.sum()))
