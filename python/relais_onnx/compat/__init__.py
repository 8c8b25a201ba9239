"""Functions of other optimisers with their arguments: a script changes one import.

Each argument is mapped to what it means here, or refused by a `NotImplementedError` that names it if it has another value
than its default.
"""
