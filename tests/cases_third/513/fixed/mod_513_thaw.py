class Thaw:
    """Keeps a module fixed until an epoch begins."""

    def __init__(self, module, *, epoch):
        self.module, self.epoch = module, epoch
        for parameter in module.parameters():
            parameter.requires_grad_(False)

    def on_epoch_start(self, epoch):
        if epoch == self.epoch:
            for parameter in self.module.parameters():
                parameter.requires_grad_(True)
