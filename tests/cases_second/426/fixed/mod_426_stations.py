import torch
from torch import nn


class StationEncoder(nn.Module):
    """A vector for a station from the letters of its code."""

    def __init__(self, width):
        super().__init__()
        self.letters = nn.Embedding(26, width)
        self.mix = nn.GRUCell(width, width)

    def forward(self, code):
        state = torch.zeros(1, self.mix.hidden_size)
        for letter in code:
            index = torch.tensor([ord(letter) - ord("a")])
            state = self.mix(self.letters(index), state)
        return state
