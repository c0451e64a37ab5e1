import torch

STEP = 0.05
GRAVITY = torch.tensor([0.0, -9.81])


def fly(start, drag, moments):
    """The places of a ball with air resistance."""
    place = torch.zeros_like(start)
    velocity = start.clone()
    path = []
    for _moment in range(moments):
        speed = velocity.pow(2).sum(1, keepdim=True).sqrt()
        force = GRAVITY - drag * speed * velocity
        velocity += STEP * force
        place = place + STEP * velocity
        path.append(place)
    return torch.stack(path, dim=1)
