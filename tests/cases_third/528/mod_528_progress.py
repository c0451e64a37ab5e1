class Progress:
    """Prints a smoothed value every few steps."""

    def __init__(self, *, every, keep=0.95):
        self.every, self.keep = every, keep
        self.steps = 0
        self.smooth = None

    def update(self, value):
        self.steps += 1
        if self.smooth is None:
            self.smooth = value
        else:
            self.smooth = self.keep * self.smooth + (1 - self.keep) * value
        if self.steps % self.every == 0:
            print(f"step {self.steps:3d}: {self.smooth:.3f}")
