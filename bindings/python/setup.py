"""For the pip of Python 3.6, which does not know pyproject.toml; all else is in setup.cfg."""
from setuptools import setup

setup()
