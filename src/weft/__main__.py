"""The command ``weft``, also as ``python -m weft``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C is quiet already while its modules load."""
    try:
        from weft.cli import main
    except KeyboardInterrupt:
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
