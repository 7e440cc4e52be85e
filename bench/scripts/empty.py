"""Nothing: what a run costs whatever the program does."""
from timed import timed

timed(lambda: None)
