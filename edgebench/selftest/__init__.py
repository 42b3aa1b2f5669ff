"""A device's self-test, which backends share: its steps, its report and its command."""
