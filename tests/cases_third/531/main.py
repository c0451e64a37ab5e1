"""A pump that is to keep a tank at its mark: actor, critic and a slow critic."""

import copy

import torch
import torch.nn.functional as F
from mod_531_follow import follow
from torch import nn

torch.manual_seed(0)


def tank(level, power):
    """Level after an hour, and the income: it is best at the mark, which is 0."""
    later = (level + 0.5 * power).clamp(-2.0, 2.0)
    return later, -later.square()


actor = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
slow = copy.deepcopy(critic).requires_grad_(False)
start = slow[0].weight.clone()
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=0.005)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
losses, income = [], []
for _step in range(150):
    level = torch.rand(64, 1) * 4 - 2
    with torch.no_grad():
        power = actor(level) + 0.3 * torch.randn(64, 1)
        later, gain = tank(level, power)
        wanted = gain + 0.5 * slow(torch.cat([later, actor(later)], dim=1))

    loss = F.mse_loss(critic(torch.cat([level, power], dim=1)), wanted)
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()

    value = critic(torch.cat([level, actor(level)], dim=1)).mean()
    actor_optimizer.zero_grad()
    (-value).backward()
    actor_optimizer.step()

    follow(slow, critic, share=0.05)
    losses.append(loss.item())
    income.append(gain.mean().item())
print(f"critic {losses[0]:.3f} -> {losses[-1]:.3f}, income {income[0]:.3f} -> {income[-1]:.3f}")
