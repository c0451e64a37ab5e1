"""A TransformerEncoder classifier: warm-up and cosine schedule, validation under no_grad."""

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, vocabulary=12, width=32, length=10, classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = nn.Parameter(torch.zeros(1, length + 1, width))
        self.cls = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        padding = tokens.eq(0)
        padding = torch.cat([padding.new_zeros(len(tokens), 1), padding], dim=1)
        x = torch.cat([self.cls.expand(len(tokens), -1, -1), self.embed(tokens)], dim=1)
        x = self.encoder(x + self.position, src_key_padding_mask=padding)
        return self.head(x[:, 0])


def make_batch(n):
    tokens = torch.randint(1, 12, (n, 10))
    lengths = torch.randint(4, 11, (n, 1))
    tokens = tokens.masked_fill(torch.arange(10) >= lengths, 0)
    return tokens, (tokens == 3).any(dim=1).long()


@torch.no_grad()
def evaluate(model, tokens, labels):
    model.eval()
    predicted = model(tokens).argmax(dim=-1)
    model.train()
    return float(np.mean(predicted.numpy() == labels.numpy()))


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=55)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[5])
validation = make_batch(128)
losses, accuracies, rates = [], [], []

for step in range(60):
    tokens, labels = make_batch(64)
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
    rates.append(scheduler.get_last_lr()[0])
    if step % 20 == 19:
        accuracies.append(evaluate(model, *validation))

assert model.training
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5]), losses
assert accuracies[-1] > 0.85, accuracies
assert rates[-1] < rates[10]
