import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WIDTH = 8
TEXT = "one fish two fish red fish blue fish this one has a little star " * 6


class LanguageModel(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embed = nn.Embedding(vocab, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, vocab, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def cooccurrence_vectors(ids):
    vocab = int(ids.max()) + 1
    counts = torch.zeros(vocab, vocab)
    pairs = torch.stack([ids[:-1], ids[1:]])
    counts.index_put_(tuple(pairs), torch.ones(pairs.shape[1]), accumulate=True)
    left, scale, _ = torch.linalg.svd(torch.log1p(counts + counts.T))
    return left[:, :WIDTH] * scale[:WIDTH].sqrt()


def load_vectors(model, vectors):
    if vectors.shape != model.embed.weight.shape:
        raise ValueError(f"vectors have shape {tuple(vectors.shape)}")
    with torch.no_grad():
        model.embed.weight.copy_(vectors)


words = TEXT.split()
vocab = sorted(set(words))
ids = torch.tensor([vocab.index(word) for word in words])
model = LanguageModel(len(vocab))
load_vectors(model, cooccurrence_vectors(ids))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _epoch in range(15):
    optimizer.zero_grad()
    logits = model(ids[None, :-1])
    loss = F.cross_entropy(logits[0], ids[1:])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{sum(p.numel() for p in model.parameters())} values, loss {losses[-1]:.3f}")
