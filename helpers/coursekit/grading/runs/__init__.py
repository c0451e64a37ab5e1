"""How is a notebook run whose code may do anything, and what does it show?"""
