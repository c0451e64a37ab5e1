"""REINFORCE: log-probabilities are stored with their history until the episode ends."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.saved_log_probs = []

    def act(self, state):
        choice = Categorical(logits=self.net(state))
        action = choice.sample()
        self.saved_log_probs.append(choice.log_prob(action))
        return action.item()


class Cart:
    def reset(self):
        self.x = float(torch.empty(()).uniform_(-1, 1))
        self.v = 0.0
        return torch.tensor([self.x, self.v])

    def step(self, action):
        self.v = 0.7 * self.v + (0.2 if action == 1 else -0.2)
        self.x += self.v
        return torch.tensor([self.x, self.v]), -min(abs(self.x), 2.0)


def discounted(rewards, gamma=0.9):
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        out.insert(0, total)
    return torch.tensor(out)


def finish(policy, optimizer, episodes):
    returns = torch.cat([discounted(e) for e in episodes])
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(policy.saved_log_probs) * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.saved_log_probs.clear()


policy, env = Policy(), Cart()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-2)
scores = []
for _update in range(25):
    episodes = []
    for _ in range(5):
        state, rewards = env.reset(), []
        for _ in range(12):
            state, reward = env.step(policy.act(state))
            rewards.append(reward)
        episodes.append(rewards)
    scores.append(sum(map(sum, episodes)) / len(episodes))
    finish(policy, optimizer, episodes)

assert not policy.saved_log_probs
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in policy.parameters())
assert sum(scores[-5:]) / 5 > 0.7 * sum(scores[:5]) / 5, (scores[:5], scores[-5:])
