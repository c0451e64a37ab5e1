"""From records to SVG and plain text: pure functions, the same output every time."""
