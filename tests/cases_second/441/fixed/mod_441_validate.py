import torch
import torch.nn.functional as F


def validate(model, recordings):
    """Mean error over recordings of different lengths."""
    errors = []
    with torch.no_grad():
        for signal, target in recordings:
            errors.append(F.l1_loss(model(signal), target).item())
    return sum(errors) / len(errors)
