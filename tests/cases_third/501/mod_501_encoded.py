from dataclasses import dataclass, replace

import torch


@dataclass
class Encoded:
    """Frames of padded recordings, with the true number of frames of each."""

    frames: torch.Tensor
    lengths: torch.Tensor

    def mask(self):
        return torch.arange(self.frames.shape[1])[None, :] < self.lengths[:, None]

    def cropped(self):
        longest = int(self.lengths.max())
        return replace(self, frames=self.frames[:, :longest].detach())

    def mean(self):
        keep = self.mask()[..., None]
        return (self.frames * keep).sum(1) / keep.sum(1)
