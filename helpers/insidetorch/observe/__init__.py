"""From torch to records: what is there, without changing it."""
