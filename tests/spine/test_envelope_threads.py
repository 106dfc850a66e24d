"""Several threads read records at once, as tasks that begin together do."""

import subprocess
import sys

READ = """
import threading
from alita_tui.spine.envelope import decode, from_builtins
line = '{"seq":1,"session_id":"s","at":"2026-01-01T00:00:00Z","event":{"kind":"interrupted"}}'
start, read = threading.Barrier(6), []

def work(number):
    start.wait()
    one = decode(line) if number % 2 else from_builtins({"seq": 1, "session_id": "s", "at": "2026-01-01T00:00:00Z", "event": {"kind": "interrupted"}})
    read.append(type(one.event).__name__)

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(*read)
"""


def test_the_first_records_are_read_by_several_threads() -> None:
    for _ in range(3):
        told = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True)
        assert told.returncode == 0, f"the process was ended by signal {-told.returncode}: {told.stderr}"
        assert told.stdout.split() == ["Interrupted"] * 6
