import torch
from torch import nn


def known_body(width):
    """A network whose statistics are those of earlier fruit."""
    body = nn.Sequential(
        nn.Conv2d(3, width, 3),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    with torch.no_grad():
        for _ in range(5):
            body(fruit(40)[0])
    return body


def fruit(count):
    """Images that are redder where the fruit is ripe."""
    ripe = (torch.rand(count) < 0.5).float()
    images = torch.rand(count, 3, 6, 6)
    images[:, 0] += ripe[:, None, None]
    return images, ripe
