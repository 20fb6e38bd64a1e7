"""The one kind of error that users are meant to see: a single line that says what is wrong, where, and what to do."""


class WeftError(Exception):
    """Bad input or a situation that only the user can mend. The command line prints it as one line and exits with 1."""


class BadLine(WeftError):
    """A line of a corpus that cannot be used; ``--skip-bad`` counts such lines instead of stopping at the first."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(file, line, problem)  # the arguments as they are, so that workers can send it by pickle
        self.file, self.line, self.problem = file, line, problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}; mend the line or leave such lines out with --skip-bad"
