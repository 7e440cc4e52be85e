"""%%tidemark: what a cell does to the heap, in IPython and Jupyter.

    %load_ext tidemark

    %%tidemark [LINES]
    ...the cell; then the highest and what is left, and the lines with the most (5, or LINES)

The kernel has to run under tidemark: `tidemark run jupyter notebook`, or `tidemark run ipython`.
"""
import tidemark
from tidemark import _tool

LINES = 5


def load(shell):
    number = [0]

    def cell_magic(line, cell):
        """%%tidemark [LINES]: the heap of a cell: highest, what is left, the lines with the most."""
        try:
            count = int(line) if line.strip() else LINES
        except ValueError:
            print("%%%%tidemark takes a number of lines, not '%s'" % line.strip())
            return
        number[0] += 1
        label, heap = "cell %d" % number[0], tidemark.watch()
        with tidemark.scope(label), heap:
            shell.run_cell(cell)
        if heap.peak_bytes is None:
            print("tidemark: this kernel is not recorded; start it under 'tidemark run', as in 'tidemark run jupyter notebook'")
            return
        print("tidemark: %s at its highest, %s left in %s, %s" % (
            _tool.size(heap.peak_bytes), _tool.size(heap.live_bytes), _tool.counted(heap.live_blocks, "block"),
            _tool.counted(heap.allocations, "allocation")))
        for title, metric in (("left, by line:", "live"), ("allocated, by line:", "total")) if count else ():
            rows = _tool.table(_tool.lines(label + "#-1", label + ".end#-1", metric, count))
            if rows:
                print("\n".join([title] + rows))

    shell.register_magic_function(cell_magic, "cell", "tidemark")
