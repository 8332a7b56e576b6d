"""
Every element of the windows of a program, as two other programs have it, a JSON object a line: `agree.py APP`.

pyatspi is what accerciser shows in its tree; dogtail finds and presses by it.
"""

import json
import sys

import pyatspi
from dogtail.config import config

# It would end where GNOME's own setting is off.
config.checkForA11y = False
config.logDebugToFile = False
config.logDebugToStdOut = False
from dogtail import tree  # noqa: E402,F401  gives each element what dogtail has of it

sys.excepthook = sys.__excepthook__


def place(node):
    try:
        extents = node.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
    except NotImplementedError:
        return None, None
    return [extents.x, extents.y, extents.width, extents.height], [*node.position, *node.size]


def labels(node):
    relations = [one for one in node.getRelationSet() if one.getRelationType() == pyatspi.RELATION_LABELLED_BY]
    return [one.getTarget(at).name for one in relations for at in range(one.getNTargets())]


def show(node, around):
    own, dogtail = place(node)
    role = pyatspi.Atspi.role_get_name(node.getRole())
    names = {"name": node.get_name() or "", "dogtail_name": node.name, "role": role, "dogtail_role": node.roleName}
    places = {"place": own, "dogtail_place": dogtail, "labels": labels(node)}
    own_id = node.app.bus_name + node.path
    print(json.dumps({"id": own_id, "around": around, **names, **places}))
    if len(around) < 60:
        for child in node:
            if child is not None:
                show(child, [*around, own_id])


for app in pyatspi.Registry.getDesktop(0):
    if app is not None and app.name == sys.argv[1]:
        for window in app:
            show(window, [])
