"""Quantities that the papers leave open, measured on recorded pages.

All are taken over the 301 page graphs of the corpus that accompanies the PCP thesis (recorded with
Chromium in 2016), counting http and https resources that no cache served, and rounded to two
figures. ``examples/measure.py`` repeats the measurement. 1 kB is 1000 bytes.
"""

from __future__ import annotations

# Main-thread time per kilobyte, in ms: for each page, the time of all parse chunks (evaluations of
# external scripts, of style sheets) divided by the bytes that they worked on; then the median page.
PARSE_MS_PER_KB = 0.25
SCRIPT_MS_PER_KB = 0.48
STYLE_MS_PER_KB = 0.13

# Mean response body by class, in kB. Used as weights: who has how much of a published total.
MEAN_KB = {"html": 27, "css": 73, "script": 50, "image": 22, "other": 44}

# Median response body by class, in bytes. Used where a single resource has no published size.
MEDIAN_BYTES = {"css": 17_000, "script": 9_300, "image": 4_600}
