"""DQN with a target network, kept up to date by hard copies and by Polyak averaging."""

import copy
import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

STATES = 6  # a corridor; its right end pays


def walk(state, action):
    nxt = max(0, min(STATES - 1, state + 2 * action - 1))
    return nxt, float(nxt == STATES - 1), nxt == STATES - 1


def one_hot(states):
    return F.one_hot(torch.as_tensor(states), STATES).float()


@torch.no_grad()
def soft_update(target, online, tau=0.2):
    for old, new in zip(target.parameters(), online.parameters(), strict=True):
        old.lerp_(new, tau)


def train(polyak):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    online = nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
    memory = deque(maxlen=500)
    state, losses = STATES - 2, []
    for step in range(220):
        with torch.no_grad():
            greedy = online(one_hot([state])).argmax().item()
        action = random.randrange(2) if random.random() < 0.7 else greedy
        nxt, reward, done = walk(state, action)
        memory.append((state, action, reward, nxt, float(done)))
        state = random.randrange(STATES - 1) if done else nxt
        if len(memory) < 32:
            continue
        s, a, r, n, d = map(torch.tensor, zip(*random.sample(memory, 32), strict=True))
        chosen = online(one_hot(s)).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            goal = r + 0.9 * (1 - d) * target(one_hot(n)).amax(dim=1)
        loss = F.smooth_l1_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if polyak:
            soft_update(target, online)
        elif step % 10 == 0:
            target.load_state_dict(online.state_dict())
    return online, target, losses


for polyak in (False, True):
    online, target, losses = train(polyak)
    with torch.no_grad():
        greedy = online(one_hot(list(range(STATES - 1)))).argmax(dim=1)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in online.parameters())
    assert torch.isfinite(torch.tensor(losses)).all()
    assert greedy.sum() >= STATES - 2, greedy
