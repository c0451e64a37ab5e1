from torch import nn
from torch.nn.utils.parametrizations import weight_norm


def steady(model):
    """Length and direction of each convolution apart, for a calmer training."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv1d):
            weight_norm(layer)
    return model
