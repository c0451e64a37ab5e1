"""What has a class handed in, and who handed in what?"""
