"""Gradients of several rounds, put together before a step."""

ROUNDS = 5


def average(parameters, rounds=ROUNDS):
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.div_(rounds)


def share(loss, rounds=ROUNDS):
    return loss / rounds
