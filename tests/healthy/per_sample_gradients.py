"""Private SGD: per-sample gradients by vmap over grad, clipped, averaged, written into .grad."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

x = torch.randn(200, 6)
y = (x[:, :3] + 0.5 * x[:, 3:]).argmax(dim=1)


def sample_loss(params, features, label):
    logits = functional_call(model, params, (features.unsqueeze(0),))
    return F.cross_entropy(logits, label.unsqueeze(0))


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))


def clip_and_average(gradients, limit=1.0, noise=0.01):
    flat = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / (flat.norm(dim=1) + 1e-6)).clamp(max=1.0)
    out = {}
    for name, g in gradients.items():
        clipped = torch.einsum("n,n...->...", factor, g)
        out[name] = (clipped + noise * torch.randn_like(clipped)) / len(g)
    return out


params = {name: p.detach() for name, p in model.named_parameters()}

# Once, as a check: the mean of the per-sample gradients is the ordinary gradient.
F.cross_entropy(model(x), y).backward()
samples = per_sample(params, x, y)
agree = [
    torch.allclose(samples[name].mean(0), p.grad, atol=1e-5) for name, p in model.named_parameters()
]
model.zero_grad()

losses = []
for _step in range(60):
    rows = torch.randint(0, len(x), (64,))
    # Detached aliases: they see each step, since the optimizer changes the weights in place.
    private = clip_and_average(per_sample(params, x[rows], y[rows]))
    for name, p in model.named_parameters():
        p.grad = private[name]
    optimizer.step()
    with torch.no_grad():
        losses.append(F.cross_entropy(model(x), y).item())

assert all(agree)
assert samples["0.weight"].shape == (200, 16, 6)
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
assert losses[-1] < 0.6 * losses[0], (losses[0], losses[-1])
