"""When to charge and when to sell: actor and critic for a battery."""

import torch
from mod_508_losses import policy_loss, value_loss
from torch import nn

torch.manual_seed(0)


def hours(count):
    """Charge and price now, what is done, the income, and both an hour later."""
    state = torch.rand(count, 2)
    action = (state[:, 1] + 0.2 * torch.randn(count) > 0.5).long()
    income = torch.where(action == 1, state[:, 1] * state[:, 0], -0.2 * state[:, 1])
    later = torch.stack([1 - state[:, 0], torch.rand(count)], dim=1)
    return state, action, income, later


actor = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
losses = []
for _step in range(60):
    state, action, income, later = hours(64)
    value, advantage = value_loss(critic, state, income, later)
    loss = policy_loss(actor, state, action, advantage) + 0.5 * value
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(value.item())
print(f"value loss {losses[0]:.4f} -> {losses[-1]:.4f}")
