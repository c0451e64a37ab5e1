import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
random.seed(0)
STATES, ACTIONS, GAMMA, SYNC_EVERY = 5, 2, 0.9, 25


def q_network():
    return nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, ACTIONS))


def sync(target, online):
    target.load_state_dict(online.state_dict())
    for parameter in target.parameters():
        parameter.requires_grad_(False)


def step(state, action):
    following = min(state + 1, STATES - 1) if action else max(state - 1, 0)
    return following, float(following == STATES - 1)


def batch_of(memory, size=16):
    state, action, reward, following = zip(*random.sample(memory, size), strict=True)
    eye = torch.eye(STATES)
    return eye[list(state)], torch.tensor(action), torch.tensor(reward), eye[list(following)]


def td_loss(online, target, batch):
    state, action, reward, following = batch
    chosen = online(state).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        goal = reward + GAMMA * target(following).max(dim=1).values
    return F.smooth_l1_loss(chosen, goal)


online, target = q_network(), q_network()
optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
memory, losses, state, since_sync = deque(maxlen=200), [], 0, 0
for count in range(110):
    if count % SYNC_EVERY == 0:
        sync(target, online)
        since_sync = 0
    action = random.randrange(ACTIONS)
    following, reward = step(state, action)
    memory.append((state, action, reward, following))
    state = 0 if reward else following
    if len(memory) < 16:
        continue
    loss = td_loss(online, target, batch_of(memory))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    since_sync += 1
    losses.append(loss.item())
print(f"td loss {losses[0]:.3f} -> {losses[-1]:.3f}")
