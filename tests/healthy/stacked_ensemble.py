"""An ensemble trained as one: stack_module_state, functional_call and vmap."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

torch.set_num_threads(1)
torch.manual_seed(0)

MEMBERS = 5


def build():
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))


members = [build() for _ in range(MEMBERS)]
params, buffers = stack_module_state(members)
skeleton = copy.deepcopy(members[0]).to("meta")


def run_member(params, buffers, x):
    return functional_call(skeleton, (params, buffers), (x,))


forward = vmap(run_member, in_dims=(0, 0, None))
forward_each = vmap(run_member, in_dims=(0, 0, 0))

x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)

optimizer = torch.optim.Adam(params.values(), lr=2e-2)
draws = torch.randint(0, len(x), (MEMBERS, len(x)))  # a bootstrap sample for each member
history = []
for _step in range(80):
    predicted = forward_each(params, buffers, x[draws])
    # A sum over members: none of them feels another's loss.
    loss = (predicted - y[draws]).pow(2).mean(dim=(1, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item() / MEMBERS)

with torch.no_grad():
    inside = forward(params, buffers, x)
    outside = forward(params, buffers, torch.tensor([[6.0]]))
    for i, member in enumerate(members):
        member.load_state_dict({name: stacked[i] for name, stacked in params.items()})
    rebuilt = torch.stack([member(x) for member in members])

assert all(p.is_leaf and p.grad is not None for p in params.values())
assert all(p.grad.flatten(1).norm(dim=1).min() > 0 for p in params.values())
assert history[-1] < 0.3 * history[0], (history[0], history[-1])
assert torch.allclose(rebuilt, inside, atol=1e-5)
assert outside.std() > inside.std(dim=0).mean()
