"""PPO: old log-probabilities are fixed numbers, several epochs run over one rollout."""

import torch
from torch import nn
from torch.distributions import Normal

torch.set_num_threads(1)
torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.value = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, state):
        return Normal(self.mean(state), self.log_std.exp()), self.value(state)


def reward_of(state, action):
    return -(action - torch.sin(3 * state)).abs()


@torch.no_grad()
def collect(agent, n=256):
    state = torch.rand(n, 1) * 2 - 1
    policy, value = agent(state)
    action = policy.sample()
    reward = reward_of(state, action)
    advantage = reward - value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return state, action, policy.log_prob(action), reward, advantage


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
scores, ratios = [], []

for _iteration in range(15):
    state, action, old_log_prob, reward, advantage = collect(agent)
    scores.append(reward.mean().item())
    for _epoch in range(4):
        for rows in torch.randperm(len(state)).split(128):
            policy, value = agent(state[rows])
            ratio = (policy.log_prob(action[rows]) - old_log_prob[rows]).exp()
            clipped = ratio.clamp(0.8, 1.2)
            gain = torch.min(ratio * advantage[rows], clipped * advantage[rows]).mean()
            value_loss = (value - reward[rows]).pow(2).mean()
            loss = -gain + 0.5 * value_loss - 0.001 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            ratios.append(ratio.detach())

spread = torch.cat(ratios)
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in agent.parameters())
assert not old_log_prob.requires_grad and not advantage.requires_grad
assert torch.isfinite(spread).all() and spread.std() > 0
assert scores[-1] > 0.7 * scores[0], scores
