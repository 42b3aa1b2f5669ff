"""Stand-ins for programs such as OpenOCD that record how they were called."""

import json
import sys

RECORDER = f"""#!{sys.executable}
import json, os, sys, time
name = os.path.basename(sys.argv[0])
files = {{file: open(file, "rb").read().hex() for file in sorted(os.listdir("."))}}
with open(os.environ["STAND_IN_CALLS"], "a") as calls:
    calls.write(json.dumps([name, sys.argv[1:], files]) + "\\n")
print(os.environ.get("STAND_IN_WORDS", ""), flush=True)
time.sleep(float(os.environ.get("STAND_IN_SLEEP", "0")))
sys.exit(int(os.environ.get("STAND_IN_EXIT", "0")))
"""


class FlashingPrograms:
    """A PATH with nothing but the stand-ins that are asked for."""

    def __init__(self, folder, monkeypatch):
        self._folder, self._monkeypatch = folder / "bin", monkeypatch
        self._folder.mkdir()
        self._calls = folder / "calls"
        monkeypatch.setenv("PATH", str(self._folder))
        monkeypatch.setenv("STAND_IN_CALLS", str(self._calls))

    def install(self, *names):
        for name in names:
            program = self._folder / name
            program.write_text(RECORDER)
            program.chmod(0o755)

    def behave(self, words="", exit_code=0, sleep_s=0):
        self._monkeypatch.setenv("STAND_IN_WORDS", words)
        self._monkeypatch.setenv("STAND_IN_EXIT", str(exit_code))
        self._monkeypatch.setenv("STAND_IN_SLEEP", str(sleep_s))

    @property
    def calls(self):
        """[(program, arguments, files in its folder by name)]."""
        if not self._calls.exists():
            return []
        return [
            (name, words, {file: bytes.fromhex(data) for file, data in files.items()})
            for name, words, files in map(json.loads, self._calls.read_text().splitlines())
        ]
