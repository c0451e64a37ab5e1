"""From one source per exercise set: the learner's notebook, the solutions, what a check knows."""
