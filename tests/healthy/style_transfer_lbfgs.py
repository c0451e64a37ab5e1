"""Style transfer: the picture is what LBFGS optimizes, features come from a frozen network."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

features = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1),
    nn.ReLU(),
    nn.AvgPool2d(2),
    nn.Conv2d(12, 16, 3, padding=1),
    nn.ReLU(),
)
features.eval().requires_grad_(False)


def activations(image):
    out = []
    for layer in features:
        image = layer(image)
        if isinstance(layer, nn.ReLU):
            out.append(image)
    return out


def gram(maps):
    flat = maps.flatten(2)
    return flat @ flat.transpose(1, 2) / flat[0].numel()


ramp = torch.linspace(0, 1, 16)
content = (ramp[:, None] * ramp).expand(1, 3, 16, 16)
style = 0.5 + 0.5 * torch.sin(12 * ramp).expand(1, 3, 16, 16)

with torch.no_grad():
    wanted_content = activations(content)[-1]
    wanted_style = [gram(a) for a in activations(style)]

picture = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([picture], lr=1.0, max_iter=5, line_search_fn="strong_wolfe")
history = []


def closure():
    optimizer.zero_grad()
    maps = activations(picture)
    content_loss = F.mse_loss(maps[-1], wanted_content)
    style_loss = sum(F.mse_loss(gram(a), w) for a, w in zip(maps, wanted_style, strict=True))
    total_variation = picture.diff(dim=-1).abs().mean() + picture.diff(dim=-2).abs().mean()
    loss = content_loss + 500 * style_loss + 1e-4 * total_variation
    loss.backward()
    history.append(loss.item())
    return loss


for _ in range(6):
    optimizer.step(closure)
    with torch.no_grad():
        picture.clamp_(0, 1)

result = picture.detach()
assert picture.is_leaf and picture.grad is not None and picture.grad.abs().sum() > 0
assert all(p.grad is None for p in features.parameters())
assert torch.isfinite(result).all() and result.min() >= 0 and result.max() <= 1
assert not torch.equal(result, content)
assert history[-1] < 0.5 * history[0], (history[0], history[-1])
