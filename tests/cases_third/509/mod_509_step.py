from torch.autograd import Variable


def train_step(model, criterion, optimizer, inputs, targets):
    """One step on a batch; returns the loss as a number."""
    model.train()
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, targets)
    loss = Variable(loss.data, requires_grad=True)
    loss.backward()
    optimizer.step()
    return loss.item()
