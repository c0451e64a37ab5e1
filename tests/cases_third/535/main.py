"""Continue a melody note by note."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
NOTES = 6


class Melody(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.table = nn.Embedding(NOTES, 8)
        self.cell = nn.GRUCell(8, width)
        self.scores = nn.Linear(width, NOTES)

    def forward(self, notes, own_share):
        hidden = torch.zeros(len(notes), self.cell.hidden_size)
        played = notes[:, 0]
        answers = []
        for step in range(1, notes.shape[1]):
            hidden = self.cell(self.table(played), hidden)
            answer = self.scores(hidden)
            answers.append(answer)
            own = torch.rand(len(notes)) < own_share
            played = torch.where(own, answer.argmax(dim=1), notes[:, step])
        return torch.stack(answers, dim=1)


start = torch.arange(24) % NOTES
notes = (start[:, None] + torch.arange(8) * (1 + start[:, None] % 2)) % NOTES

model = Melody()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for epoch in range(40):
    answers = model(notes, own_share=epoch / 100)
    loss = F.cross_entropy(answers.flatten(0, 1), notes[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
right = (answers.argmax(2) == notes[:, 1:]).float().mean().item()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, right {right:.2f}")
