"""What ``spark-submit`` starts: the installed package, with the words that ``ringside`` takes."""

import sys

from tui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
