"""The device side: agent and worker, Python 3.6 syntax, travelling as one zipapp.

`python agent.pyz serve` supervises and speaks frames on stdin and stdout; `worker` and `probe` are the
children that it starts. Nothing here imports the host side of the package.
"""
