"""What is told of what was graded, and where does it stand?"""
