/* What form.exe shows and uia.c serves: elements in memory that both processes have, which is named by the process of form.exe. */
#include <windows.h>

#define FORM_NAME L"svc-form-%lu"

enum { MOST = 48, LETTERS = 64 };

/* What an element can do. */
enum {
  HAS_INVOKE = 1,
  HAS_TOGGLE = 2,
  HAS_VALUE = 4,
  HAS_RANGE = 8,
  HAS_EXPAND = 16,
  HAS_SELECT = 32,
  HAS_SCROLL = 64,
  HAS_GRID = 128,
  HAS_SELECTION = 256,
  HAS_PLACE_IN_GRID = 512
};

/* How an element is. What is hidden, and what is in it, is no element. */
enum { DISABLED = 1, SECRET = 2, OFFSCREEN = 4, FOCUSED = 8, SELECTED = 16, HIDDEN = 32, READ_ONLY = 64, DIALOG = 128 };

/* What is done with an element: a message to the window of the form, with the number of the element. */
enum {
  DO_INVOKE = WM_APP,
  DO_TOGGLE,
  DO_TEXT,
  DO_NUMBER,
  DO_EXPAND,
  DO_COLLAPSE,
  DO_SELECT,
  DO_SCROLL,
  DO_FOCUS,
  TEXT_WAS_READ,
  HANG
};

struct item {
  int parent; /* -1 for a window */
  HWND window; /* of a window */
  int type, has, is;
  int toggle, expand, row, column, rows, columns;
  int label; /* the element that names it; 0 for none */
  double number;
  int left, top, width, height;
  wchar_t name[LETTERS], text[LETTERS];
};

struct form {
  HWND window;
  int count;
  LONG objects; /* elements that uia.c has made and not let go */
  wchar_t text[LETTERS]; /* of DO_TEXT */
  double number; /* of DO_NUMBER */
  struct item items[MOST];
};
