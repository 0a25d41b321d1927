"""`PYTHONPATH=tests python -m pagesite.where FILE TEXT`: where a text stands in a page's file.

Prints LINE:COLUMN of its beginning and of the character behind it, for each occurrence.
"""

import re
import sys
from pathlib import Path

from pagesite.truth import PAGES, position_after


def main() -> None:
    _, file, text = sys.argv
    source = (PAGES / Path(file)).read_text()
    for match in re.finditer(re.escape(text), source):
        places = (position_after(source, match.start()), position_after(source, match.end()))
        print(*("{}:{}".format(*place) for place in places))


if __name__ == "__main__":
    main()
