/* A window with elements that uia.c serves, its title is the first argument: prints what is done with them, a line for each deed. */
#include <stdio.h>
#include "uia.h"

enum { /* UIA_…ControlTypeId (UIAutomationClient.h) */
  BUTTON_TYPE = 50000,
  CHECK_BOX = 50002,
  COMBO_BOX = 50003,
  EDIT = 50004,
  LIST_ITEM = 50007,
  LIST = 50008,
  MENU_BAR = 50010,
  MENU_ITEM = 50011,
  SLIDER = 50015,
  LABEL = 50020,
  TREE = 50023,
  TREE_ITEM = 50024,
  CUSTOM = 50025,
  WINDOW = 50032,
  HEADER = 50034,
  HEADER_ITEM = 50035,
  TABLE = 50036
};

static struct form *form;
static int dialog;

static void say(const char *deed, const wchar_t *what) {
  char text[4 * LETTERS];
  WideCharToMultiByte(CP_UTF8, 0, what, -1, text, sizeof text, NULL, NULL);
  printf("%s %s\n", deed, text);
}

static struct item *add(int parent, int type, int has, const wchar_t *name) {
  struct item *one = &form->items[form->count];
  one->parent = parent;
  one->type = type;
  one->has = has;
  one->left = 120;
  one->top = 120 + 8 * form->count;
  one->width = 200;
  one->height = 8;
  lstrcpynW(one->name, name, LETTERS);
  form->count++;
  return one;
}

static int number_of(const struct item *one) {
  return (int)(one - form->items);
}

static void add_table(int window) {
  static const wchar_t *const names[] = {L"Name", L"Amount"}, *const cells[2][2] = {{L"ACME", L"12"}, {L"Größe", L"7"}};
  struct item *table = add(window, TABLE, HAS_GRID, L"Orders");
  int own = number_of(table), header;
  table->rows = table->columns = 2;
  header = number_of(add(own, HEADER, 0, L""));
  for (int column = 0; column < 2; column++) add(header, HEADER_ITEM, 0, names[column]);
  for (int row = 0; row < 2; row++) {
    for (int column = 0; column < 2; column++) {
      struct item *cell = add(own, CUSTOM, HAS_PLACE_IN_GRID, cells[row][column]);
      cell->row = row;
      cell->column = column;
    }
  }
}

static void add_choices(int window) {
  struct item *combo = add(window, COMBO_BOX, HAS_EXPAND | HAS_VALUE, L"Shipping"), *one;
  int own = number_of(combo);
  combo->is = READ_ONLY;
  lstrcpyW(combo->text, L"Post");
  add(own, LIST_ITEM, HAS_SELECT, L"Post")->is = OFFSCREEN | SELECTED;
  add(own, LIST_ITEM, HAS_SELECT, L"Courier")->is = OFFSCREEN;
  own = number_of(add(window, LIST, HAS_SELECTION, L"Colours"));
  add(own, LIST_ITEM, HAS_SELECT, L"Red")->is = SELECTED;
  add(own, LIST_ITEM, HAS_SELECT, L"Blue");
  own = number_of(add(window, TREE, 0, L"Years"));
  one = add(own, TREE_ITEM, HAS_EXPAND, L"2026");
  add(number_of(one), TREE_ITEM, 0, L"May")->is = HIDDEN;
  own = number_of(add(window, MENU_BAR, 0, L""));
  one = add(own, MENU_ITEM, HAS_EXPAND, L"File");
  add(number_of(one), MENU_ITEM, HAS_INVOKE, L"Save as…")->is = HIDDEN;
}

static void fill(HWND window, const wchar_t *title) {
  struct item *one = add(-1, WINDOW, 0, title);
  RECT place;
  GetWindowRect(window, &place);
  one->window = window;
  one->left = place.left;
  one->top = place.top;
  one->width = place.right - place.left;
  one->height = place.bottom - place.top;
  add(0, BUTTON_TYPE, HAS_INVOKE, L"Save");
  add(0, BUTTON_TYPE, HAS_INVOKE, L"Delete")->is = DISABLED;
  add(0, LABEL, 0, L"Customer:");
  one = add(0, EDIT, HAS_VALUE, L"");
  one->label = form->count - 2;
  lstrcpyW(one->text, L"Nobody");
  one = add(0, EDIT, HAS_VALUE, L"Password");
  one->is = SECRET;
  lstrcpyW(one->text, L"hunter2");
  add(0, CHECK_BOX, HAS_TOGGLE, L"Paid");
  add(0, SLIDER, HAS_RANGE, L"Volume")->number = 30;
  add_choices(0);
  add_table(0);
  add(0, BUTTON_TYPE, HAS_INVOKE | HAS_SCROLL, L"Far")->is = OFFSCREEN;
  add(0, BUTTON_TYPE, HAS_INVOKE, L"Ask");
  add(0, BUTTON_TYPE, HAS_INVOKE, L"Count");
  add(0, BUTTON_TYPE, HAS_INVOKE, L"Hang");
  one = add(-1, WINDOW, 0, L"Sure?");
  one->is = HIDDEN | DIALOG;
  dialog = number_of(one);
  add(dialog, BUTTON_TYPE, HAS_INVOKE, L"Yes");
}

/* As a dialog that keeps who opened it until it is closed. */
static void ask(void) {
  struct item *one = &form->items[dialog];
  MSG message;
  one->window = CreateWindowW(L"form", L"Sure?", WS_OVERLAPPEDWINDOW | WS_VISIBLE, 600, 80, 200, 100, NULL, NULL, NULL, NULL);
  one->is = DIALOG;
  while (!(one->is & HIDDEN) && GetMessageW(&message, NULL, 0, 0) > 0) DispatchMessageW(&message);
  DestroyWindow(one->window);
  one->window = NULL;
}

static void invoke(struct item *one) {
  say("invoke", one->name);
  if (!lstrcmpW(one->name, L"Ask")) ask();
  if (!lstrcmpW(one->name, L"Count")) printf("objects %ld\n", form->objects);
  if (!lstrcmpW(one->name, L"Hang")) PostMessageW(form->window, HANG, 0, 0);
  if (!lstrcmpW(one->name, L"Yes")) {
    form->items[dialog].is |= HIDDEN;
    PostMessageW(form->window, WM_NULL, 0, 0);
  }
}

static void unfold(int own, int is_open) {
  form->items[own].expand = is_open;
  for (int n = 0; n < form->count; n++) {
    struct item *one = &form->items[n];
    int closed = one->type == LIST_ITEM ? OFFSCREEN : HIDDEN;
    if (one->parent == own) one->is = is_open ? one->is & ~closed : one->is | closed;
  }
}

static void choose(struct item *one, int state) {
  for (int n = 0; n < form->count; n++) {
    struct item *other = &form->items[n];
    if (state == FOCUSED || other->parent == one->parent) other->is &= ~state;
  }
  one->is |= state;
  if (state == SELECTED) lstrcpyW(form->items[one->parent].text, one->name);
}

static void act(UINT deed, int n) {
  struct item *one = &form->items[n];
  switch (deed) {
    case DO_INVOKE: invoke(one); break;
    case DO_TOGGLE: one->toggle ^= 1; say("toggle", one->name); break;
    case DO_TEXT: lstrcpyW(one->text, form->text); say("text", one->is & SECRET ? L"of a secret" : one->text); break;
    case DO_NUMBER: one->number = form->number; printf("number %g\n", one->number); break;
    case DO_EXPAND: unfold(n, 1); say("expand", one->name); break;
    case DO_COLLAPSE: unfold(n, 0); say("collapse", one->name); break;
    case DO_SELECT: choose(one, SELECTED); say("select", one->name); break;
    case DO_SCROLL: one->is &= ~OFFSCREEN; say("scroll", one->name); break;
    case DO_FOCUS: choose(one, FOCUSED); say("focus", one->name); break;
    case TEXT_WAS_READ: if (one->is & SECRET) printf("the secret was read\n"); break;
    default: break;
  }
}

static LRESULT CALLBACK receive(HWND window, UINT message, WPARAM w, LPARAM l) {
  if (message == HANG) Sleep(120000);
  if (message == WM_CLOSE) PostQuitMessage(0);
  if (message < DO_INVOKE || message > HANG || w >= MOST) return DefWindowProcW(window, message, w, l);
  act(message, (int)w);
  return 0;
}

int wmain(int count, wchar_t **arguments) {
  WNDCLASSW kind = {.lpfnWndProc = receive, .lpszClassName = L"form", .hbrBackground = CreateSolidBrush(RGB(250, 250, 250))};
  const wchar_t *title = count > 1 ? arguments[1] : L"form";
  wchar_t name[LETTERS];
  HANDLE shared;
  MSG message;
  setvbuf(stdout, NULL, _IONBF, 0);
  wsprintfW(name, FORM_NAME, GetCurrentProcessId());
  shared = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(struct form), name);
  form = shared ? MapViewOfFile(shared, FILE_MAP_ALL_ACCESS, 0, 0, sizeof(struct form)) : NULL;
  if (!form) return 1;
  RegisterClassW(&kind);
  form->window = CreateWindowW(L"form", title, WS_OVERLAPPEDWINDOW | WS_VISIBLE, 100, 80, 440, 480, NULL, NULL, NULL, NULL);
  fill(form->window, title);
  printf("shown\n");
  while (GetMessageW(&message, NULL, 0, 0) > 0) {
    TranslateMessage(&message);
    DispatchMessageW(&message);
  }
  return 0;
}
