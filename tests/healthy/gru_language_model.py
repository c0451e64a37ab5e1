"""A GRU language model: tied weights, padded targets that the loss ignores, clipped gradients."""

import math

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.set_num_threads(1)
torch.manual_seed(0)

LINES = [
    "the cat sat on the mat",
    "the dog ran to the door",
    "a bird sang in the tree by the lake",
    "the cat ran",
    "a dog sat by the door",
]
PAD, EOS = 0, 1
words = sorted({word for line in LINES for word in line.split()})
index = {word: i + 2 for i, word in enumerate(words)}
encoded = [torch.tensor([EOS, *(index[w] for w in line.split()), EOS]) for line in LINES]


class LanguageModel(nn.Module):
    def __init__(self, vocabulary: int, width: int = 32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.drop = nn.Dropout(0.1)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, vocabulary, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens, lengths):
        x = self.drop(self.embed(tokens))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = self.gru(packed)
        hidden, _ = pad_packed_sequence(hidden, batch_first=True)
        return self.out(self.drop(hidden))


model = LanguageModel(len(words) + 2)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.0)

lengths = torch.tensor([len(e) - 1 for e in encoded])
batch = pad_sequence(encoded, batch_first=True, padding_value=PAD)
source, target = batch[:, :-1], batch[:, 1:]

history = []
for _step in range(50):
    model.train()
    optimizer.zero_grad()
    logits = model(source, lengths)
    loss = criterion(logits.flatten(0, 1), target.flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    history.append(loss.item())

model.eval()
with torch.no_grad():
    perplexity = math.exp(criterion(model(source, lengths).flatten(0, 1), target.flatten()).item())

assert model.out.weight is model.embed.weight
assert len(list(model.parameters())) == 5
assert all(p.grad is not None for p in model.parameters())
assert torch.isfinite(norm)
assert history[-1] < 0.5 * history[0]
assert perplexity < 3.0, perplexity
