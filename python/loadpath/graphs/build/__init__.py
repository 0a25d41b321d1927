"""From a recording of a page load to its page graph: the 25 rules of the PCP thesis (Table 3.1)."""
