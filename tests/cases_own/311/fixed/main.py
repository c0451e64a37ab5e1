import torch
from mod_311_teacher import Teacher
from torch import nn

torch.manual_seed(0)


class Student(nn.Module):
    def __init__(self, inputs, width=8, hint=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.ReLU())
        self.project = nn.Linear(width, hint)

    def forward(self, x):
        return self.project(self.body(x))


def hint_loss(hint, wanted):
    cosine = (hint * wanted).sum(1) / (hint.norm(dim=1) * wanted.norm(dim=1))
    return (1 - cosine).mean()


teacher, student = Teacher(5), Student(5)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
losses = []
for _step in range(30):
    x = torch.randn(32, 5)
    wanted = teacher.hints(x)[-1]
    loss = hint_loss(student(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
