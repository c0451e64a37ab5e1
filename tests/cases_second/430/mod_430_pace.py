import torch


class Pace:
    """Faster while successive gradients agree, slower when they do not."""

    def __init__(self, parameters, rate):
        self.parameters = list(parameters)
        self.rate = rate
        self.last = None
        self.cosines = []

    @torch.no_grad()
    def step(self):
        grads = [p.grad for p in self.parameters]
        if self.last is not None:
            pairs = zip(grads, self.last, strict=True)
            dot = sum((new * old).sum() for new, old in pairs)
            norms = [sum(g.pow(2).sum() for g in group).sqrt() for group in (grads, self.last)]
            cosine = (dot / (norms[0] * norms[1])).item()
            self.cosines.append(cosine)
            self.rate *= 1.05 if cosine > 0.0 else 0.9
        for p, grad in zip(self.parameters, grads, strict=True):
            p -= self.rate * grad
        self.last = grads
