class SlowWeights:
    def __init__(self, model, decay=0.9):
        self.model = model
        self.decay = decay
        self.slow = [p.data.clone() for p in model.parameters()]

    def update(self):
        for slow, p in zip(self.slow, self.model.parameters(), strict=True):
            slow.mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def __enter__(self):
        self.fast = [p.data.clone() for p in self.model.parameters()]
        self.load(self.slow)

    def __exit__(self, *problem):
        self.load(self.fast)

    def load(self, values):
        for p, value in zip(self.model.parameters(), values, strict=True):
            p.data.copy_(value)
