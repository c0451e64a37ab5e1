from torch import nn


class FrozenBody(nn.Module):
    """A body from elsewhere: it stays as it is, its features are computed once."""

    def __init__(self, inputs, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU())
        self.requires_grad_(False)
        self.eval()
        self.cache = {}

    def train(self, mode=True):
        return super().train(False)

    def forward(self, number, x):
        if number not in self.cache:
            self.cache[number] = self.layers(x)
        return self.cache[number]
