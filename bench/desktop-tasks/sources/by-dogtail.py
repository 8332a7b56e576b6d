"""Runs the steps of a task by dogtail, as a script of dogtail has them: python3 by-dogtail.py STEPS.json"""

import json
import subprocess
import sys
import time

from dogtail import config, predicate, rawinput, tree

config.config.load({"logDebugToFile": False, "logDebugToStdOut": False, "searchCutoffCount": 1})

KEYS = {"ctrl": "<Control>", "shift": "<Shift>", "alt": "<Alt>"}
NAMES = {"esc": "Escape", "enter": "Return", "delete": "Delete", "tab": "Tab", "home": "Home", "end": "End"}


def squeezed(text):
    return " ".join((text or "").split())


class Fits(predicate.Predicate):
    """What a locator names: role, name, or the name of the label that the program says."""

    def __init__(self, locator):
        self.locator = locator
        self.satisfiedByNode = self.fits
        self.debugName = json.dumps(locator)

    def describeSearchResult(self, node=None):
        return self.debugName

    def fits(self, node):
        roles, name = self.locator["roles"], self.locator.get("name")
        if roles is not None and node.roleName not in roles:
            return False
        if self.locator.get("focused") and not node.focused:
            return False
        if name is None:
            return True
        own = squeezed(node.name) or squeezed(node.labeler.name if node.labeler else "")
        return own == squeezed(name) if self.locator.get("exact", True) else name.lower() in own.lower()


def places(locator):
    """The windows that it may be in; what it is within."""
    if locator.get("within"):
        within = dict(locator["within"])
        within.setdefault("window", locator.get("window"))
        within.setdefault("app", locator.get("app"))
        return matches(within)
    title, app = locator.get("window"), locator.get("app")
    found = []
    for program in tree.root.applications():
        if app is not None and program.name.lower() != app.lower():
            continue
        for window in program.children:
            if title is None or title.lower() in squeezed(window.name).lower():
                found.append(window)
    return found


def matches(locator):
    fits = Fits(locator)
    found = []
    for place in places(locator):
        found += ([place] if fits.fits(place) else []) + place.findChildren(fits, showingOnly=False)
    nth = locator.get("nth")
    return found[nth - 1 : nth] if nth else found


def one(locator, timeout):
    """The node, once there is one."""
    end = time.monotonic() + timeout
    while True:
        try:
            found = matches(locator)
        except Exception:  # What changed while it was looked at.
            found = []
        shown = [node for node in found if node.showing] or found
        if len(shown) > 1:
            raise SystemExit(f"fail: {json.dumps(locator)} names {len(shown)} elements")
        if shown:
            return shown[0]
        if time.monotonic() > end:
            raise SystemExit(f"fail: there is no {json.dumps(locator)}")
        time.sleep(0.1)


def press(node):
    for action in ("click", "press", "activate", "jump", "toggle"):
        if action in node.actions:
            node.doActionNamed(action)
            return
    node.click()


def keys(names):
    *held, last = names
    rawinput.keyCombo("".join(KEYS[name] for name in held) + NAMES.get(last, last))


def window(title, timeout):
    """Dogtail does not give windows the focus: wmctrl does."""
    end = time.monotonic() + timeout
    while subprocess.run(["wmctrl", "-a", title]).returncode != 0:
        if time.monotonic() > end:
            raise SystemExit(f"fail: there is no window {title}")
        time.sleep(0.1)


def perform(step):
    command, given, locator = step["command"], step["input"], step["locator"]
    timeout = given.get("timeout", 20)
    node = one(locator, timeout) if locator and command != "AC_wait_element_gone" else None
    if command == "AC_press_element":
        press(node)
    elif command in ("AC_a11y_click", "AC_click_element"):
        for _ in range(given.get("clicks", 1)):
            node.click()
    elif command == "AC_set_element_text":
        if node.roleName in ("slider", "spin button"):
            node.value = float(given["text"])
        else:
            node.text = given["text"]
    elif command == "AC_check_element":
        if node.checked != given.get("on", True):
            press(node)
    elif command == "AC_focus_element":
        node.grabFocus()
    elif command == "AC_wait_element_gone":
        end = time.monotonic() + timeout
        while matches(locator):
            if time.monotonic() > end:
                raise SystemExit(f"fail: {json.dumps(locator)} is still there")
            time.sleep(0.1)
    elif command in ("AC_wait_element", "AC_wait_window"):
        if command == "AC_wait_window":
            window(given["title_substring"], given["timeout"])
    elif command == "AC_focus_window":
        window(given["title_substring"], 5)
    elif command == "AC_hotkey":
        keys(given["key_code_list"])
    elif command == "AC_write":
        rawinput.typeText(given["write_string"])
    elif command == "AC_sleep":
        time.sleep(given["seconds"])
    else:
        raise SystemExit(f"fail: dogtail has no {command}")


with open(sys.argv[1]) as file:
    for nth, step in enumerate(json.load(file)):
        try:
            perform(step)
        except SystemExit:
            raise
        except Exception as error:
            raise SystemExit(f"fail: step {nth + 1}, {step['command']}: {type(error).__name__}: {error}")
