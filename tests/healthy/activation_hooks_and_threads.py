"""Hooks keep detached activations for a while; a thread only reads the weights as they change."""

import queue
import threading
from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Probe:
    def __init__(self, model):
        self.outputs = defaultdict(list)
        self.slopes = defaultdict(list)
        self.handles = []
        for name, module in model.named_children():
            self.handles.append(module.register_forward_hook(self.on_forward(name)))
            if name != "0":  # no gradient flows into the data
                self.handles.append(module.register_full_backward_hook(self.on_backward(name)))

    def on_forward(self, name):
        def hook(module, inputs, output):
            self.outputs[name].append(output.detach().clone())

        return hook

    def on_backward(self, name):
        return lambda module, down, up: self.slopes[name].append(up[0].norm().item())


def watch_norms(model, requests, report):
    while requests.get() is not None:
        with torch.no_grad():
            report.append(sum(p.norm().item() for p in model.parameters()))


x = torch.randn(128, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
requests, report = queue.Queue(), []
reader = threading.Thread(target=watch_norms, args=(model, requests, report))
reader.start()

probe = Probe(model)
losses, outputs = [], []
for step in range(60):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    outputs.append(logits.detach())
    requests.put(step)
    if step == 9:
        for handle in probe.handles:
            handle.remove()

requests.put(None)
reader.join()
assert all(len(kept) == 10 for kept in [*probe.outputs.values(), *probe.slopes.values()])
assert not any(t.requires_grad for t in probe.outputs["2"])
assert len(report) == 60 and report[-1] > 0
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert losses[-1] < 0.4 * losses[0] and not torch.equal(outputs[0], outputs[-1])
