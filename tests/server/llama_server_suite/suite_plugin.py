"""A plugin of pytest: no models are fetched before the tests, and each outcome becomes a line of OUTCOMES: file, test, outcome, reason."""
import os

import pytest
import utils

utils.ServerPreset.load_all = staticmethod(lambda: None)


@pytest.hookimpl
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed" and report.when == "setup":
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message if crash else str(report.longrepr or "")
        file, _, test = report.nodeid.partition("::")
        with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as out:
            out.write("\t".join((file, test, report.outcome, " ".join(reason.split())[:300])) + "\n")
