import numpy as np
import torch

MASS = np.array([1.008, 12.011, 14.007, 15.999])


def molecules(count, atoms):
    """Atoms of all molecules in one list, with the number of their molecule."""
    generator = np.random.default_rng(0)
    kinds = generator.integers(0, len(MASS), count * atoms)
    owner = np.repeat(np.arange(count), atoms)
    return torch.from_numpy(kinds), torch.from_numpy(owner)


def masses(kinds):
    return torch.from_numpy(MASS[kinds.numpy()])
