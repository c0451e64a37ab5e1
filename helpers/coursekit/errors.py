"""What do the commands of the course print instead of a traceback?"""

from __future__ import annotations


class CourseError(Exception):
    """What was asked, why it cannot be, and what to do instead: printed as it is, exit code 1."""
