import torch
from torch.func import functional_call


def on_a_chip(model, inputs, *, scatter):
    """What a chip answers whose weights are off by some per cent."""
    weights = {}
    for name, weight in model.named_parameters():
        weights[name] = weight * (1 + scatter * torch.randn_like(weight))
    return functional_call(model, weights, (inputs,))
