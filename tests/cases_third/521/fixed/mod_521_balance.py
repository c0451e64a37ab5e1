class Running:
    """A value divided by its running mean."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.mean = 1.0

    def __call__(self, value):
        self.mean = self.decay * self.mean + (1 - self.decay) * value.detach()
        return value / self.mean


class Balance:
    """The sum of two losses, each about one in size."""

    def __init__(self):
        self.heat, self.speed = Running(), Running()

    def __call__(self, heat, speed):
        return self.heat(heat) + self.speed(speed)
