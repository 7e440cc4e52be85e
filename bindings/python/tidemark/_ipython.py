"""%%tidemark: what a cell does to the heap, in IPython and Jupyter.

    %load_ext tidemark

    %%tidemark [OPTIONS of tidemark run]
    ...the cell

In a kernel that is not recorded, which is the usual case, the cell is recorded as a script, in a Python process of
its own, and the page of the recording is shown. That process has none of the notebook's variables.

In a kernel that runs under tidemark (`tidemark run jupyter notebook`, or `tidemark run ipython`) the cell runs where it
is, and what it did is printed: the highest, what is left, and the lines with the most (5, or as %%tidemark 10 says).
tidemark.show() then shows the page of the recording so far.
"""
import shlex
import sys

import tidemark
from tidemark import _notebook, _tool

LINES = 5


class Failed(Exception):
    """Makes IPython count the cell as failed, so that "Run all" stops there. The reason has already been shown."""

    def _render_traceback_(self):  # in place of the lines of this module
        return ["%%tidemark: " + str(self)]


def load(shell):
    number = [0]

    def told_here(line, cell):
        """In a kernel that is recorded: the figures of the cell."""
        try:
            count = int(line) if line.strip() else LINES
        except ValueError:
            raise Failed("a kernel that is recorded takes a number of lines, not '%s'" % line.strip()) from None
        number[0] += 1
        label, heap = "cell %d" % number[0], tidemark.watch()
        with tidemark.scope(label), heap:
            done = shell.run_cell(cell)
        print("tidemark: %s at its highest, %s left in %s, %s" % (
            _tool.size(heap.peak_bytes), _tool.size(heap.live_bytes), _tool.counted(heap.live_blocks, "block"),
            _tool.counted(heap.allocations, "allocation")))
        for title, metric in (("left, by line:", "live"), ("allocated, by line:", "total")) if count else ():
            rows = _tool.table(_tool.lines(label + "#-1", label + ".end#-1", metric, count))
            if rows:
                print("\n".join([title] + rows))
        if not done.success:
            raise Failed("the cell failed")

    def recorded_apart(line, cell):
        """In any other kernel: the cell as a script, and the page of its recording."""
        try:
            options = shlex.split(line)
            if any(not word.startswith("-") for word in options[:1]):
                raise ValueError("'%s' is not an option of tidemark run; this kernel is not recorded" % options[0])
            print("tidemark: the cell runs in a Python process of its own, without the notebook's variables", file=sys.stderr)
            failure, profile = _notebook.run_cell(cell, options)
            if profile:
                tidemark.show(profile)
        except (_tool.NotFound, OSError, ValueError) as e:
            raise Failed(e) from None
        if failure:
            raise Failed(failure)

    def cell_magic(line, cell):
        """%%tidemark [OPTIONS of tidemark run]: records the cell in a process of its own and shows the page.

        In a kernel that runs under tidemark: %%tidemark [LINES] prints what the cell did to the heap."""
        (told_here if tidemark.recorded() else recorded_apart)(line, cell)

    shell.register_magic_function(cell_magic, "cell", "tidemark")
