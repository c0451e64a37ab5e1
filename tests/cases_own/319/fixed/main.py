import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
PAD, VOCAB, WIDTH = 0, 20, 16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, stream):
        change = F.gelu(self.mix(self.norm(stream["hidden"])))
        return {**stream, "hidden": stream["hidden"] + change * stream["keep"]}


class Tagger(nn.Module):
    def __init__(self, depth=3, tags=3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH, padding_idx=PAD)
        self.layers = nn.ModuleList(Layer() for _ in range(depth))
        self.head = nn.Linear(WIDTH, tags)

    def forward(self, ids):
        stream = {"hidden": self.embed(ids), "keep": (ids != PAD)[..., None]}
        for layer in self.layers:
            stream = checkpoint(layer, stream, use_reentrant=False)
        return self.head(stream["hidden"])


ids = torch.randint(1, VOCAB, (16, 10))
ids[::3, 7:] = PAD
tags = torch.where(ids == PAD, -100, ids % 3)
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses = []
for _step in range(20):
    loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
