"""Links: how the harness reaches an agent, and the device that an agent-backed target becomes."""
