import json


class Log:
    """Rows of plain numbers, for a table and for a file."""

    def __init__(self):
        self.rows = []

    def write(self, epoch, loss, guess, miss):
        spread = guess.detach().numpy().std()
        first = guess[:3, 0].tolist()
        self.rows.append([epoch, loss.item(), miss, float(spread), *first])

    def table(self, *, every):
        lines = [" ".join(f"{value:8.3f}" for value in row) for row in self.rows[::every]]
        return "\n".join(lines)

    def text(self):
        return json.dumps(self.rows)
