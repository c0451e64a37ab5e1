def train_step(model, criterion, optimizer, inputs, targets):
    """One step on a batch; returns the loss as a number."""
    model.train()
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, targets)
    loss.backward()
    optimizer.step()
    return loss.item()
