"""A plugin of pytest for llama-server's suite: no model is fetched ahead, and each outcome is recorded.

Writes a JSON object to SUITE_OUTCOMES: {test: [outcome, last line of the failure]}.
"""

import json
import os

outcomes = {}


def pytest_sessionstart(session):
    import utils

    # Starts each preset once, so that later starts can be offline: here all are, and one without a
    # model, which Puna refuses, would end the session.
    utils.ServerPreset.load_all = staticmethod(lambda: None)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        reason = ""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = (crash.message if crash else str(report.longrepr)).splitlines()[0][:300]
        elif report.skipped:
            reason = str(report.longrepr[-1])
        if outcomes.get(report.nodeid, ["passed"])[0] == "passed":
            outcomes[report.nodeid] = [report.outcome, reason]


def pytest_sessionfinish(session):
    with open(os.environ["SUITE_OUTCOMES"], "w") as file:
        json.dump(outcomes, file, indent=1, sort_keys=True)
