"""One-step actor-critic: a shared trunk, a detached advantage, an entropy bonus."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

CONTEXTS, ACTIONS = 5, 3
payoff = F.one_hot(torch.arange(CONTEXTS) % ACTIONS, ACTIONS).float()


class ActorCritic(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(CONTEXTS, width), nn.Tanh())
        self.actor = nn.Linear(width, ACTIONS)
        self.critic = nn.Linear(width, 1)

    def forward(self, x):
        hidden = self.trunk(x)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


def play(context, action):
    return payoff[context, action] + 0.1 * torch.randn(len(context))


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
returns, value_losses = [], []

for _update in range(80):
    context = torch.randint(0, CONTEXTS, (64,))
    policy, value = model(F.one_hot(context, CONTEXTS).float())
    action = policy.sample()
    reward = play(context, action)

    advantage = reward - value
    # The actor takes the advantage as a number; the critic learns from its own term.
    scaled = advantage.detach()
    scaled = (scaled - scaled.mean()) / (scaled.std() + 1e-6)
    actor_loss = -(policy.log_prob(action) * scaled).mean()
    critic_loss = advantage.pow(2).mean()
    entropy = policy.entropy().mean()
    loss = actor_loss + 0.5 * critic_loss - 0.01 * entropy

    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    returns.append(reward.mean().item())
    value_losses.append(critic_loss.item())

with torch.no_grad():
    greedy = model(torch.eye(CONTEXTS))[0].probs.argmax(dim=1)

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert torch.isfinite(torch.tensor(value_losses)).all()
assert sum(returns[-10:]) > 1.5 * sum(returns[:10]), (returns[:3], returns[-3:])
assert value_losses[-1] < value_losses[0]
assert greedy.tolist() == [c % ACTIONS for c in range(CONTEXTS)]
