"""Shows that the judge can fail. Run with `python -m unittest discover -s judge/tests -t .` beside the package."""
