"""A character model, trained on one long text a chunk at a time."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TEXT = "the quick brown fox jumps over the lazy dog. " * 8
VOCAB = sorted(set(TEXT))
CHUNK = 16


class CharModel(nn.Module):
    def __init__(self, vocab, width=32):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def start(self, batch):
        return torch.zeros(1, batch, self.width), torch.zeros(1, batch, self.width)

    def forward(self, ids, state):
        out, state = self.lstm(self.embed(ids), state)
        return self.head(out), state


def repackage(state):
    hidden, cell = state
    return hidden.detach(), cell.detach()


def chunks(ids):
    for start in range(0, ids.shape[1] - CHUNK - 1, CHUNK):
        stop = start + CHUNK
        yield ids[:, start:stop], ids[:, start + 1 : stop + 1]


ids = torch.tensor([VOCAB.index(char) for char in TEXT]).view(2, -1)
model = CharModel(len(VOCAB))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _epoch in range(3):
    state = model.start(ids.shape[0])
    for x, y in chunks(ids):
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = repackage(state)
        losses.append(loss.item())
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}")
