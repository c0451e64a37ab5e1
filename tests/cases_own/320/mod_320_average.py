"""A slowly moving average of a model's weights, used for evaluation."""

import copy


class WeightAverage:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()

    def update(self, model):
        for slow, fast in zip(self.model.parameters(), model.parameters(), strict=True):
            slow.mul_(self.decay).add_(fast, alpha=1 - self.decay)
        for slow, fast in zip(self.model.buffers(), model.buffers(), strict=True):
            slow.copy_(fast)
