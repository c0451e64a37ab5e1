import torch
from torch.utils.data import Dataset


class Peptides(Dataset):
    """Chains of residues as rows of a table, with the measured strength."""

    def __init__(self, table, chains, strengths):
        self.table, self.chains, self.strengths = table, chains, strengths

    def __len__(self):
        return len(self.chains)

    def __getitem__(self, index):
        return self.table(self.chains[index]), self.strengths[index]


def collate(samples):
    longest = max(len(rows) for rows, _ in samples)
    blank = [0.0] * samples[0][0].shape[1]
    padded = [rows.tolist() + [blank] * (longest - len(rows)) for rows, _ in samples]
    strengths = torch.tensor([strength for _, strength in samples])
    return torch.tensor(padded), strengths
