"""Measuring: the queue of each host, its sessions, and what is kept of them."""
