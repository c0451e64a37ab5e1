import torch
from torch.nn.utils.rnn import pad_sequence
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
    padded = pad_sequence([rows for rows, _ in samples], batch_first=True)
    strengths = torch.tensor([strength for _, strength in samples])
    return padded, strengths
