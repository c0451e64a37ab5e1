"""The author's and the teacher's side of the course: build notebooks, check them, grade."""
