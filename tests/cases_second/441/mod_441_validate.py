import torch
import torch.nn.functional as F


def validate(model, recordings):
    """Mean error over recordings of different lengths."""
    torch.set_grad_enabled(False)
    errors = []
    for signal, target in recordings:
        errors.append(F.l1_loss(model(signal), target).item())
    torch.set_grad_enabled(True)
    return sum(errors) / len(errors)
