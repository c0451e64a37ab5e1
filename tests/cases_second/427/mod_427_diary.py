import collections


class Diary:
    """What was measured in each step, by name."""

    def __init__(self):
        self.entries = collections.defaultdict(list)

    def write(self, **values):
        for name, value in values.items():
            self.entries[name].append(value)

    def mean(self, name, last=10):
        recent = self.entries[name][-last:]
        return sum(recent) / len(recent)
