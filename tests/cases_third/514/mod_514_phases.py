def freeze(module):
    """Keep a module as it is."""
    module.eval()
    for parameter in module.parameters():
        parameter.requires_grad = False


def thaw(module):
    """Let a module learn again."""
    module.train()
    module.requires_grad = True
