"""Keeps the latest output of chosen layers, for a look at their statistics."""


class Watch:
    def __init__(self, model, names):
        self.seen, self.handles = {}, []
        layers = dict(model.named_modules())
        for name in names:
            self.add(name, layers[name])

    def add(self, name, layer):
        def keep(_layer, _args, output):
            self.seen[name] = output.detach()
            return self.seen[name]

        self.handles.append(layer.register_forward_hook(keep))

    def report(self):
        return {name: (float(t.mean()), float(t.std())) for name, t in self.seen.items()}

    def close(self):
        for handle in self.handles:
            handle.remove()
