import torch
from torch import nn


class QueryDecoder(nn.Module):
    """Asks an image, given as tokens, a fixed number of learned questions."""

    def __init__(self, width, queries):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.score = nn.Bilinear(width, width, 1)

    def forward(self, tokens):
        queries = self.queries.expand(tokens.shape[0], -1, -1)
        found, _ = self.attend(queries, tokens, tokens)
        width = queries.shape[-1]
        scores = self.score(queries.view(-1, width), found.reshape(-1, width))
        return scores.view(tokens.shape[0], -1)
