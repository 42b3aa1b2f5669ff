"""The device side: agent and worker, Python 3.6 syntax, travelling as one zipapp."""
