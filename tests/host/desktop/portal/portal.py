"""A portal of a test's own (org.freedesktop.portal.RemoteDesktop and ScreenCast), as xdg-desktop-portal and Plasma have it.

Its argument is JSON: `folder`, in which `person` says what whoever sits at the screen does (yes, no, nobody), `tokens` has the tokens
that restore a session, a line each, `delay` says how many milliseconds a session takes to start, and `log` gets what happens, a JSON list
a line; `version` of RemoteDesktop; `modes` of the pointer, none for no ScreenCast; `store`, whether there is the permission store that the
tokens are in; `mutter`, the address of a bus on which Mutter does what a session may.
"""

import json
import os
import socket
import sys
import uuid

from gi.repository import Gio, GLib

asked = json.loads(sys.argv[1])
FOLDER = asked["folder"]
VERSION = asked.get("version", 2)
MODES = asked.get("modes", 7)
STORE = "org.freedesktop.impl.portal.PermissionStore"
ROOT = "/org/freedesktop/portal/desktop"
REMOTE, CAST = "org.freedesktop.portal.RemoteDesktop", "org.freedesktop.portal.ScreenCast"
FACES = """<node>
<interface name="org.freedesktop.portal.RemoteDesktop">
<method name="CreateSession"><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="SelectDevices"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="Start"><arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="NotifyPointerMotionAbsolute"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="u" direction="in"/><arg type="d" direction="in"/><arg type="d" direction="in"/></method>
<method name="NotifyPointerButton"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="in"/></method>
<method name="NotifyPointerAxisDiscrete"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="u" direction="in"/><arg type="i" direction="in"/></method>
<method name="NotifyKeyboardKeysym"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="in"/></method>
<property name="version" type="u" access="read"/>
</interface>
<interface name="org.freedesktop.portal.ScreenCast">
<method name="SelectSources"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="OpenPipeWireRemote"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="h" direction="out"/></method>
<property name="AvailableCursorModes" type="u" access="read"/>
</interface>
<interface name="org.freedesktop.portal.Request"><method name="Close"/></interface>
<interface name="org.freedesktop.portal.Session"><method name="Close"/></interface>
<interface name="org.freedesktop.impl.portal.PermissionStore">
<method name="Lookup"><arg name="table" type="s" direction="in"/><arg name="id" type="s" direction="in"/><arg name="permissions" type="a{sas}" direction="out"/><arg name="data" type="v" direction="out"/></method>
</interface>
</node>"""
faces = {face.name: face for face in Gio.DBusNodeInfo.new_for_xml(FACES).interfaces}
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
sessions, registered = {}, {}


def path_of(name):
    return os.path.join(FOLDER, name)


def read(name):
    try:
        with open(path_of(name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def say(*what):
    with open(path_of("log"), "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def keep(tokens):
    with open(path_of("tokens"), "w", encoding="utf-8") as file:
        file.write("".join(f"{token}\n" for token in tokens))


def register(path, face, closed):
    def call(_bus, _sender, _path, _face, _method, _values, invocation):
        invocation.return_value(None)
        closed()

    registered[path] = bus.register_object(path, faces[face], call, None, None)


def forget(path):
    if path in registered:
        bus.unregister_object(registered.pop(path))


class Request:
    """A request, whose answer comes by a signal."""

    def __init__(self, sender, options, name):
        self.sender, self.name = sender, name
        self.path = f"{ROOT}/request/{sender[1:].replace('.', '_')}/{options['handle_token']}"
        register(self.path, "org.freedesktop.portal.Request", self.withdrawn)

    def withdrawn(self):
        say("withdrawn", self.name)
        forget(self.path)

    def is_withdrawn(self):
        return self.path not in registered

    def answer(self, code, results):
        body = GLib.Variant("(ua{sv})", (code, results))
        bus.emit_signal(self.sender, self.path, "org.freedesktop.portal.Request", "Response", body)
        forget(self.path)


class Mutter:
    """What a session may do, done by Mutter on another bus."""

    def __init__(self, address):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)

    def call(self, kind, path, face, member, signature=None, *values):
        body = None if signature is None else GLib.Variant(signature, values)
        name = f"org.gnome.Mutter.{kind}"
        return self.bus.call_sync(name, path, face or name, member, body, None, 0, -1, None).unpack()

    def start(self, started):
        remote, cast = "org.gnome.Mutter.RemoteDesktop", "org.gnome.Mutter.ScreenCast"
        (self.path,) = self.call("RemoteDesktop", "/org/gnome/Mutter/RemoteDesktop", None, "CreateSession")
        get = ("org.freedesktop.DBus.Properties", "Get", "(ss)", f"{remote}.Session", "SessionId")
        (identity,) = self.call("RemoteDesktop", self.path, *get)
        options = {"remote-desktop-session-id": GLib.Variant("s", identity)}
        (casting,) = self.call("ScreenCast", "/org/gnome/Mutter/ScreenCast", None, "CreateSession", "(a{sv})", options)
        record = ("RecordMonitor", "(sa{sv})", "", {"cursor-mode": GLib.Variant("u", 2)})
        (self.stream,) = self.call("ScreenCast", casting, f"{cast}.Session", *record)

        def added(_bus, _sender, _path, _face, _member, values):
            # Plasma's devices are there before anybody asks for a session.
            self.tell("NotifyKeyboardKeycode", "(ub)", 0, True)
            self.tell("NotifyPointerMotionRelative", "(dd)", 0, 0)
            GLib.timeout_add(300, lambda: started(values.unpack()[0]))

        self.bus.signal_subscribe(None, f"{cast}.Stream", "PipeWireStreamAdded", self.stream, None, 0, added)
        self.tell("Start")

    def tell(self, member, *rest):
        self.call("RemoteDesktop", self.path, "org.gnome.Mutter.RemoteDesktop.Session", member, *rest)

    def notify(self, member, values):
        first, second = values[0], values[1]
        if member == "NotifyPointerMotionAbsolute":
            self.tell(member, "(sdd)", self.stream, *values[1:])
        elif member == "NotifyPointerButton":
            self.tell(member, "(ib)", first, second == 1)
        elif member == "NotifyPointerAxisDiscrete":
            self.tell(member, "(ui)", first, second)
        else:
            self.tell(member, "(ub)", first, second == 1)

    def stop(self):
        self.tell("Stop")


def create(sender, options):
    path = f"{ROOT}/session/{sender[1:].replace('.', '_')}/{options['session_handle_token']}"
    mutter = Mutter(asked["mutter"]) if "mutter" in asked else None
    sessions[path] = {"token": None, "persist": 0, "sources": False, "mutter": mutter, "started": False}

    def closed():
        say("closed")
        forget(path)
        if sessions.pop(path)["started"] and mutter:
            mutter.stop()

    register(path, "org.freedesktop.portal.Session", closed)
    return path


def vanished(_bus, sender):
    """A program has gone: what it asked for is withdrawn, and its sessions end."""
    mark = f"/{sender[1:].replace('.', '_')}/"
    for path in [path for path in registered if mark in path]:
        say("gone")
        forget(path)
        session = sessions.pop(path, None)
        if session and session["started"] and session["mutter"]:
            session["mutter"].stop()


def start(session, request):
    restored = session["token"] is not None
    say("restored" if restored else "asked", session["persist"])
    person = "yes" if restored else read("person").strip()
    if person == "nobody":
        return
    if person == "no":
        request.answer(1, {})
        return
    results = {"devices": GLib.Variant("u", 3)}
    delay = int(read("delay").strip() or 0)

    def started(node):
        if request.is_withdrawn():
            return False
        session["started"] = True
        if session["persist"] == 2 and VERSION >= 2:
            token = session["token"] or str(uuid.uuid4())
            keep([*read("tokens").split(), token])
            results["restore_token"] = GLib.Variant("s", token)
        if session["sources"]:
            place = {"position": GLib.Variant("(ii)", (0, 0)), "size": GLib.Variant("(ii)", (1280, 800))}
            results["streams"] = GLib.Variant("a(ua{sv})", [(node, place)])
        request.answer(0, results)
        if delay:
            say("started")
        return False

    if session["mutter"]:
        session["mutter"].start(started)
    else:
        GLib.timeout_add(delay, started, 42) if delay else started(42)


def call(_bus, sender, _path, _face, method, parameters, invocation):
    values = list(parameters.unpack())
    path = values[0] if method != "CreateSession" else None
    if path is not None and path not in sessions:
        invocation.return_dbus_error("org.freedesktop.DBus.Error.AccessDenied", "Invalid session")
        return
    session = sessions.get(path)
    if method.startswith("Notify"):
        say(method, *values[2:])
        if session["mutter"]:
            session["mutter"].notify(method, values[2:])
        invocation.return_value(None)
        return
    if method == "OpenPipeWireRemote":
        files = Gio.UnixFDList.new()
        if session["mutter"]:
            remote = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            remote.connect(os.path.join(os.environ["XDG_RUNTIME_DIR"], "pipewire-0"))
            files.append(remote.fileno())
        else:
            with open("/proc/self/comm", encoding="utf-8") as file:
                files.append(file.fileno())
        invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (0,)), files)
        return
    request = Request(sender, values[-1], method)
    handle = GLib.Variant("(o)", (request.path,))
    if method == "CreateSession":
        session = create(sender, values[-1])
        Gio.bus_watch_name_on_connection(bus, sender, Gio.BusNameWatcherFlags.NONE, None, vanished)
        invocation.return_value(handle)
        request.answer(0, {"session_handle": GLib.Variant("s", session)})
    elif method == "SelectDevices":
        options = values[-1]
        session["persist"] = options.get("persist_mode", 0)
        tokens, token = read("tokens").split(), options.get("restore_token")
        if token in tokens:
            # It is good once: a session that starts gets one anew.
            session["token"] = token
            keep([one for one in tokens if one != token])
        say("devices", options["types"])
        # The answer may come before that to the call.
        request.answer(0, {})
        invocation.return_value(handle)
    elif method == "SelectSources":
        session["sources"] = True
        say("sources", values[-1]["types"], values[-1]["multiple"], values[-1]["cursor_mode"])
        invocation.return_value(handle)
        request.answer(0, {})
    else:
        invocation.return_value(handle)
        start(session, request)


def prop(_bus, _sender, _path, _face, name):
    return GLib.Variant("u", VERSION if name == "version" else MODES)


for face in [REMOTE, CAST] if MODES else [REMOTE]:
    if face == REMOTE and VERSION == 0:
        continue
    bus.register_object(ROOT, faces[face], call, prop, None)
Gio.bus_own_name_on_connection(bus, "org.freedesktop.portal.Desktop", Gio.BusNameOwnerFlags.NONE, None, None)


def look_up(_bus, _sender, _path, _face, _method, values, invocation):
    table, token = values.unpack()
    if table == "remote-desktop" and token in read("tokens").split():
        invocation.return_value(GLib.Variant("(a{sas}v)", ({"": ["yes"]}, GLib.Variant("y", 0))))
    else:
        invocation.return_dbus_error("org.freedesktop.portal.Error.NotFound", f"No entry for {token}")


if asked.get("store", True):
    bus.register_object("/org/freedesktop/impl/portal/PermissionStore", faces[STORE], look_up, None, None)
    Gio.bus_own_name_on_connection(bus, STORE, Gio.BusNameOwnerFlags.NONE, None, None)


def control(_bus, _sender, _path, _face, _method, _values, invocation):
    """Whoever sits at the screen ends all sessions."""
    for path in list(sessions):
        bus.emit_signal(None, path, "org.freedesktop.portal.Session", "Closed", GLib.Variant("(a{sv})", ({},)))
        sessions.pop(path)
        forget(path)
    invocation.return_value(None)


panel = Gio.DBusNodeInfo.new_for_xml('<node><interface name="svc.Panel"><method name="End"/></interface></node>')
bus.register_object("/panel", panel.interfaces[0], control, None, None)
GLib.MainLoop().run()
