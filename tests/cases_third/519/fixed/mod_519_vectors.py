import torch


def read_vectors(lines):
    """A dict of name and numbers from lines such as `fern 0.9 0.1 0.0`."""
    vectors = {}
    for line in lines:
        name, *numbers = line.split()
        vectors[name] = [float(number) for number in numbers]
    return vectors


def fill(table, names, vectors):
    """Put the vectors of the known names into the table; returns how many there were."""
    found = 0
    for index, name in enumerate(names):
        if name in vectors:
            with torch.no_grad():
                table.weight[index] = torch.tensor(vectors[name])
            found += 1
    return found
