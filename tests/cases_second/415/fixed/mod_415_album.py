class Album:
    """Collects what passes by, to be drawn after training."""

    def __init__(self, every):
        self.every = every
        self.pages = []
        self.count = 0

    def keep(self, picture):
        if self.count % self.every == 0:
            self.pages.append(picture.detach())
        self.count += 1

    def clear(self):
        self.pages.clear()
        self.count = 0
