import torch


class Polar:
    """A measured curve at equal distances from low to high."""

    def __init__(self, values, low, high):
        self.values = values
        self.low = low
        self.step = (high - low) / (len(values) - 1)

    def __call__(self, x):
        place = (x - self.low) / self.step
        index = place.long().clamp(0, len(self.values) - 2)
        return self.values[index]


def thin_wing(points, low, high):
    angle = torch.linspace(low, high, points)
    return Polar(0.11 * angle, low, high)
