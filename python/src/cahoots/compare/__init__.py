"""The same LinUCB work in Cahoots and in what else there is: ``python -m cahoots.compare``.

All libraries are given the same contexts and learn from the same arms and rewards, whatever they would have chosen
themselves, so that each does the same work at each step and what it would have chosen can be held against a reference:
normal equations, solved anew each time. They take turns, slice by slice, in an order that rotates; the median over
slices counts. A library that is not installed has a row that says so.

>>> from cahoots.compare import compare
>>> report = compare(quick=True, libraries=["cahoots", "numpy"])
>>> [row["agreement"] for row in report["work"][0]["rows"]]
[1.0, 1.0]
"""

from cahoots.compare.report import compare, table

__all__ = ["compare", "table"]
