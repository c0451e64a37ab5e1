import torch


class AveragedWeights:
    """A slow copy of the weights that can take the model's place for a while."""

    def __init__(self, model, decay=0.8):
        self.decay = decay
        self.model = model
        self.slow = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self):
        for slow, p in zip(self.slow, self.model.parameters(), strict=True):
            slow.lerp_(p, 1 - self.decay)

    def swap(self):
        for slow, p in zip(self.slow, self.model.parameters(), strict=True):
            fast = p.data.clone()
            p.data.copy_(slow)
            slow.copy_(fast)
