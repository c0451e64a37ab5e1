import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
PAD, VOCAB, WIDTH = 0, 12, 16


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB)

    def attend(self, x, real):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        allowed = causal & real[:, None, :]
        scores = q @ k.transpose(1, 2) / WIDTH**0.5
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        return scores.softmax(dim=-1) @ v

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x + self.attend(x, ids != PAD))


def left_pad(prompts):
    width = max(map(len, prompts))
    return torch.tensor([[PAD] * (width - len(p)) + p for p in prompts])


def next_token_loss(model, ids):
    logits, target = model(ids[:, :-1]), ids[:, 1:]
    real = ids[:, :-1] != PAD
    return F.cross_entropy(logits[real], target[real])


ids = left_pad([[3, 4, 5, 6, 7, 8], [9, 10, 11], [5, 6, 7, 8]])
model = Decoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
losses = []
for _step in range(20):
    optimizer.zero_grad()
    loss = next_token_loss(model, ids)
    loss.backward()
    losses.append(loss.item())
    if not torch.isfinite(model.qkv.weight.grad).all():
        break
    optimizer.step()
print(len(losses), losses[-1])
