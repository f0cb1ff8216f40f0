"""``python -m symacct``: the command line."""

import sys

from symacct.cli import main

if __name__ == "__main__":
    sys.exit(main())
