"""`python -m executorch_format` is the command `pte`."""

from executorch_format._command import main

if __name__ == "__main__":
    main()
