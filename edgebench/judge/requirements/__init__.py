"""Requirements: profiles of limits, their files, and the schedules they assume."""
