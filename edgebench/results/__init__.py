"""The record: experiments, trials and sessions on disk, written atomically, read lazily."""
