import torch
import torch.nn.functional as F


def value_loss(critic, state, income, later, discount=0.3):
    """Error of the critic, and the advantage of what was done."""
    with torch.no_grad():
        wanted = income + discount * critic(later).squeeze(1)
    now = critic(state).squeeze(1)
    return F.mse_loss(now, wanted), (wanted - now).detach()


def policy_loss(actor, state, action, advantage):
    log_prob = F.log_softmax(actor(state), dim=1)
    taken = log_prob.gather(1, action[:, None]).squeeze(1)
    return -(taken * advantage).mean()
