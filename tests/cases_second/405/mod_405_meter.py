class GradientMeter:
    """Keeps the features at the heads' entries, to compare how hard each head pulls."""

    def __init__(self):
        self.taps = {}

    def tap(self, name, feature):
        self.taps[name] = feature
        return feature

    def norms(self):
        norms = {}
        for name, feature in self.taps.items():
            grad = feature.grad
            norms[name] = 0.0 if grad is None else grad.norm().item()
        return norms

    def weights(self):
        norms = {name: norm + 1e-6 for name, norm in self.norms().items()}
        total = sum(1 / norm for norm in norms.values())
        return {name: 1 / norm / total for name, norm in norms.items()}
