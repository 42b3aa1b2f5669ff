"""Renews docs/attacks.md; with `--check` it only says whether that is due."""

import sys

from tests.attacks.table import PAGE, RENEW, collected, page

made = page(collected())
if "--check" not in sys.argv[1:]:
    PAGE.write_text(made)
elif not PAGE.exists() or PAGE.read_text() != made:
    sys.exit(f"{PAGE.name} is not what the tests say: renew it by `{RENEW}`")
