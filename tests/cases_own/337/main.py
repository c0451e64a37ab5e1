import torch
from torch import nn

torch.manual_seed(0)
CLIP, CRITIC_STEPS = 0.1, 3


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


def target(count):
    return torch.randn(count, 2) * 0.3 + torch.tensor([1.0, -1.0])


critic, generator = network(2, 1), network(4, 2)
opt_critic = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
opt_generator = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
for _round in range(20):
    for _ in range(CRITIC_STEPS):
        with torch.no_grad():
            fake = generator(torch.randn(64, 4))
        distance = critic(target(64)).mean() - critic(fake).mean()
        opt_critic.zero_grad()
        (-distance).backward()
        opt_critic.step()
        for parameter in critic.parameters():
            parameter.data.clamp_(-CLIP, CLIP)

    critic.requires_grad_(False)
    loss = -critic(generator(torch.randn(64, 4))).mean()
    opt_generator.zero_grad()
    loss.backward()
    opt_generator.step()
    critic.requires_grad_(True)
print(f"distance {distance.item():.4f}")
