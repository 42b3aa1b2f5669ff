"""`python -m edgebench`: the command line, where the `edgebench` script is not on the PATH."""

from edgebench.cli.main import main

if __name__ == "__main__":
    main()
