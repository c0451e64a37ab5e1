"""What a notebook calls: predictions, intended errors, and what is remembered of the learner."""
