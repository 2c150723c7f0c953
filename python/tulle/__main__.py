# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tulle` is the command line tool, where it is part of the installation."""
import os
import sys

from ._errors import NotBuilt
from ._files import cli_program


def main() -> int:
    try:
        program = cli_program()
    except NotBuilt as e:
        print(f"tulle: {e}", file=sys.stderr)
        return 5
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
