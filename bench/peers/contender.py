"""What a library must offer to be measured, and nothing else."""

THREADS = 2
BUCKET = 512
SAMPLE = 1 << 22  # elements on which parameters are chosen
MARGIN = 0.98     # of the bits that are allowed: the whole may take a little more than the sample


class Contender:
    """One row of the table. Made in a process of its own, which then calls the methods in this order."""

    name = ""       # of the row
    needs = ()      # modules that must be importable
    against = ""    # the spec of gradz that it is compared with
    target = None   # that spec's bits per element, set before prepare()
    decodes = True  # False: compress() returns the decoded values beside the code

    def prepare(self, x):
        """Imports, and parameters chosen so that no more than `target` bits are used; not timed."""

    def compress(self, x):
        """x: float32, one-dimensional. Returns the code."""
        raise NotImplementedError

    def bits(self, code, x):
        """Of the whole code, all that the decoder needs."""
        raise NotImplementedError

    def decompress(self, code, x):
        """The values; x only for its shape and type."""
        raise NotImplementedError

    def note(self):
        """What a reader of the row should know."""
        return ""


def smallest(low, high, fits, steps=12):
    """By bisection, nearly the smallest value in [low, high] (both positive) that fits; high is known to."""
    for _ in range(steps):
        middle = (low * high) ** 0.5
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
