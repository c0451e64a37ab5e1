"""Explorers: controls, then a record from `observe`, then its picture from `draw`."""
