"""Actor and critic on a corridor: walk right, the reward waits at the end."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
LENGTH, GAMMA = 6, 0.9


def observe(place):
    return F.one_hot(torch.tensor(place), LENGTH).float()


def episode(actor, steps=20):
    place, seen, done, rewards = 0, [], [], []
    for _ in range(steps):
        obs = observe(place)
        with torch.no_grad():
            action = Categorical(logits=actor(obs)).sample()
        place = min(max(place + 2 * int(action) - 1, 0), LENGTH - 1)
        seen.append(obs)
        done.append(action)
        rewards.append(float(place == LENGTH - 1))
    return torch.stack(seen), torch.stack(done), rewards


def discounted(rewards):
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        out.append(total)
    return torch.tensor(out[::-1])


def normalize(x):
    return (x - x.mean()) / (x.std() + 1e-8)


actor = nn.Sequential(nn.Linear(LENGTH, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(LENGTH, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
for _update in range(30):
    obs, actions, rewards = episode(actor)
    returns = discounted(rewards)
    value = critic(obs)
    advantage = normalize(returns[:, None] - value.detach())
    log_prob = Categorical(logits=actor(obs)).log_prob(actions)
    policy_loss = -(log_prob * advantage.squeeze(1)).mean()
    value_loss = F.mse_loss(value, returns[:, None])
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"value loss {value_loss.item():.3f}")
