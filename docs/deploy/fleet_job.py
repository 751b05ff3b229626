"""What ``spark-submit`` starts: the jobs of the installed package, with the arguments of ``python -m pipeline``."""

import sys

from pipeline.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
