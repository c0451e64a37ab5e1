import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(inputs, width, bias=False)

    def forward(self, state, x):
        return torch.tanh(self.inner(state) + self.outer(x))


class Equilibrium(nn.Module):
    """Iterates its cell to a fixed point, then takes one step that is recorded."""

    def __init__(self, inputs, width, outputs):
        super().__init__()
        self.width = width
        self.cell = Cell(inputs, width)
        self.head = nn.Linear(width, outputs)

    @torch.no_grad()
    def solve(self, x, tolerance=1e-4, limit=20):
        state = x.new_zeros(len(x), self.width)
        for _ in range(limit):
            following = self.cell(state, x)
            if (following - state).norm() < tolerance:
                break
            state = following
        return state

    def forward(self, x):
        start = self.solve(x).requires_grad_()
        state = self.cell(start, x)
        return self.head(state), state, start


def jacobian_penalty(state, start):
    probe = torch.randn_like(state)
    (product,) = torch.autograd.grad(state, start, probe, create_graph=True)
    return product.pow(2).sum(dim=1).mean()


model = Equilibrium(3, 16, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(32, 3)
y = torch.sin(x.sum(dim=1, keepdim=True))
losses = []
for _step in range(40):
    prediction, state, start = model(x)
    penalty = jacobian_penalty(state, start)
    loss = F.mse_loss(prediction, y) + 0.05 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, penalty {penalty.item():.3f}")
