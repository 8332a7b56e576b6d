"""A window of GTK 4 with a password field, a field that shows dots, and a plain one, each with a text. Without bindings: Debian has none."""

from ctypes import CDLL, c_char_p, c_int, c_void_p

gtk = CDLL("libgtk-4.so.1")
glib = CDLL("libglib-2.0.so.0")


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


function(gtk, "gtk_init", None)()
window = function(gtk, "gtk_window_new", c_void_p)()
function(gtk, "gtk_window_set_title", None, c_void_p, c_char_p)(window, b"Fields")
box = function(gtk, "gtk_box_new", c_void_p, c_int, c_int)(1, 4)
add = function(gtk, "gtk_box_append", None, c_void_p, c_void_p)
set_text = function(gtk, "gtk_editable_set_text", None, c_void_p, c_char_p)
show = function(gtk, "gtk_entry_set_visibility", None, c_void_p, c_int)
entry = function(gtk, "gtk_entry_new", c_void_p)

password = function(gtk, "gtk_password_entry_new", c_void_p)()
hidden, plain, other = entry(), entry(), entry()
show(hidden, 0)
for field, text in ((password, "hunter4711"), (hidden, "hunter4712"), (plain, "ACME"), (other, "Grüße, 世界")):
    set_text(field, text.encode())
    add(box, field)
function(gtk, "gtk_window_set_child", None, c_void_p, c_void_p)(window, box)
function(gtk, "gtk_window_present", None, c_void_p)(window)
loop = function(glib, "g_main_loop_new", c_void_p, c_void_p, c_int)(None, 0)
function(glib, "g_main_loop_run", None, c_void_p)(loop)
