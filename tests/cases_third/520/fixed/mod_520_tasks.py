import torch.nn.functional as F


def train_step(trunk, heads, images, targets, optimizer):
    """One step for all tasks; returns the sum of their losses."""
    optimizer.zero_grad()
    shared = trunk(images)
    total = 0.0
    for name, head in heads.items():
        loss = F.mse_loss(head(shared), targets[name])
        total = total + loss
    total.backward()
    optimizer.step()
    return total.item()
