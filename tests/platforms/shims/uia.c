/* A client of UI Automation, which Wine 8 lacks, for windows of form.exe alone: the elements that form.c keeps in memory.

   The tables of IUIAutomation, of elements, of what they are found by, and of the patterns Value and LegacyIAccessible are those of Wine's
   own header (libwine-dev); those of the other patterns stand here as the Windows SDK has them. A method that is not here is a null pointer:
   who calls a wrong one does not go on. */
#define INITGUID
#include <windows.h>
#include <ole2.h>
#include <uiautomationclient.h>
#include "uia.h"

#define GONE ((HRESULT)0x80040201)
#define NOT_ENABLED ((HRESULT)0x80040200)
#define LATE ((HRESULT)0x80131505)
#define CALL HRESULT STDMETHODCALLTYPE

static DWORD limit = 20000; /* TransactionTimeout, in milliseconds */

/* IUnknown of an object that begins with its face and a count. */
#define UNKNOWN(Face, type)                                                                          \
  static CALL type##_query(Face *face, REFIID iid, void **out) {                                     \
    *out = NULL;                                                                                     \
    if (!IsEqualIID(iid, &IID_IUnknown) && !IsEqualIID(iid, &IID_##Face)) return E_NOINTERFACE;      \
    InterlockedIncrement(&((struct type *)face)->count);                                             \
    *out = face;                                                                                     \
    return S_OK;                                                                                     \
  }                                                                                                  \
  static ULONG STDMETHODCALLTYPE type##_add(Face *face) {                                            \
    return InterlockedIncrement(&((struct type *)face)->count);                                      \
  }                                                                                                  \
  static ULONG STDMETHODCALLTYPE type##_release(Face *face) {                                        \
    ULONG left = InterlockedDecrement(&((struct type *)face)->count);                                \
    if (left == 0) type##_free((struct type *)face);                                                 \
    return left;                                                                                     \
  }

static void *made(size_t size) {
  return HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, size);
}

static void unmade(void *one) {
  HeapFree(GetProcessHeap(), 0, one);
}

/* ---- Forms ---- */

static struct form *form_of(HWND window) {
  static struct known {
    DWORD pid;
    struct form *form;
    struct known *next;
  } *all;
  struct known *one;
  wchar_t name[LETTERS];
  HANDLE shared;
  DWORD pid = 0;
  GetWindowThreadProcessId(window, &pid);
  for (one = all; one; one = one->next)
    if (one->pid == pid) return one->form;
  wsprintfW(name, FORM_NAME, pid);
  shared = OpenFileMappingW(FILE_MAP_ALL_ACCESS, FALSE, name);
  if (!shared) return NULL;
  one = made(sizeof *one);
  one->pid = pid;
  one->form = MapViewOfFile(shared, FILE_MAP_ALL_ACCESS, 0, 0, sizeof(struct form));
  one->next = all;
  all = one;
  return one->form;
}

/* Sends a message to the form, which may hang. */
static HRESULT tell(struct form *form, UINT message, int item) {
  DWORD_PTR answer;
  if (SendMessageTimeoutW(form->window, message, item, 0, SMTO_NORMAL, limit, &answer)) return S_OK;
  return IsWindow(form->window) ? LATE : GONE;
}

static BOOL is_there(struct form *form, int n) {
  if (!IsWindow(form->window)) return FALSE;
  for (; n >= 0; n = form->items[n].parent)
    if (form->items[n].is & HIDDEN) return FALSE;
  return TRUE;
}

static BOOL is_below(struct form *form, int n, int outer) {
  for (n = form->items[n].parent; n >= 0; n = form->items[n].parent)
    if (n == outer) return TRUE;
  return FALSE;
}

/* ---- Properties ---- */

/* What stands for a property that an element does not have. */
static CALL nothing_query(IUnknown *face, REFIID iid, void **out) {
  *out = IsEqualIID(iid, &IID_IUnknown) ? face : NULL;
  return *out ? S_OK : E_NOINTERFACE;
}
static ULONG STDMETHODCALLTYPE nothing_count(IUnknown *face) {
  (void)face;
  return 1;
}
static IUnknownVtbl nothing_table = {nothing_query, nothing_count, nothing_count};
static IUnknown nothing = {&nothing_table};

static void whole(VARIANT *out, int value) {
  out->vt = VT_I4;
  out->lVal = value;
}

static void truth(VARIANT *out, BOOL value) {
  out->vt = VT_BOOL;
  out->boolVal = value ? VARIANT_TRUE : VARIANT_FALSE;
}

static void words(VARIANT *out, const wchar_t *value) {
  out->vt = VT_BSTR;
  out->bstrVal = SysAllocString(value);
}

static void id_of(struct form *form, int n, VARIANT *out) {
  int *numbers;
  out->vt = VT_I4 | VT_ARRAY;
  out->parray = SafeArrayCreateVector(VT_I4, 0, 3);
  SafeArrayAccessData(out->parray, (void **)&numbers);
  numbers[0] = 42;
  numbers[1] = (int)(LONG_PTR)form->window;
  numbers[2] = n;
  SafeArrayUnaccessData(out->parray);
}

static void place_of(const struct item *one, VARIANT *out) {
  double *numbers;
  out->vt = VT_R8 | VT_ARRAY;
  out->parray = SafeArrayCreateVector(VT_R8, 0, 4);
  SafeArrayAccessData(out->parray, (void **)&numbers);
  numbers[0] = one->left;
  numbers[1] = one->top;
  numbers[2] = one->width;
  numbers[3] = one->height;
  SafeArrayUnaccessData(out->parray);
}

static void property_of(struct form *form, int n, const struct item *one, PROPERTYID property, VARIANT *out) {
  VariantInit(out);
  switch (property) {
    case UIA_RuntimeIdPropertyId: id_of(form, n, out); return;
    case UIA_BoundingRectanglePropertyId: place_of(one, out); return;
    case UIA_ControlTypePropertyId: whole(out, one->type); return;
    case UIA_NamePropertyId: words(out, one->name); return;
    case UIA_HasKeyboardFocusPropertyId: truth(out, one->is & FOCUSED); return;
    case UIA_IsKeyboardFocusablePropertyId: truth(out, one->has != 0); return;
    case UIA_IsEnabledPropertyId: truth(out, !(one->is & DISABLED)); return;
    case UIA_ClassNamePropertyId: words(out, L"form"); return;
    case UIA_FrameworkIdPropertyId: words(out, L"XAML"); return;
    case UIA_IsPasswordPropertyId: truth(out, one->is & SECRET); return;
    case UIA_IsOffscreenPropertyId: truth(out, one->is & OFFSCREEN); return;
    case UIA_IsExpandCollapsePatternAvailablePropertyId: truth(out, one->has & HAS_EXPAND); return;
    case UIA_IsGridItemPatternAvailablePropertyId: truth(out, one->has & HAS_PLACE_IN_GRID); return;
    case UIA_IsSelectionItemPatternAvailablePropertyId: truth(out, one->has & HAS_SELECT); return;
    case UIA_IsSelectionPatternAvailablePropertyId: truth(out, one->has & HAS_SELECTION); return;
    case UIA_IsTogglePatternAvailablePropertyId: truth(out, one->has & HAS_TOGGLE); return;
    case UIA_IsValuePatternAvailablePropertyId: truth(out, one->has & HAS_VALUE); return;
    case UIA_IsDialogPropertyId: truth(out, one->is & DIALOG); return;
    default: break;
  }
  if (property == UIA_NativeWindowHandlePropertyId && one->window) whole(out, (int)(LONG_PTR)one->window);
  else if (property == UIA_ValueIsReadOnlyPropertyId && one->has & HAS_VALUE) truth(out, one->is & READ_ONLY);
  else if (property == UIA_ExpandCollapseExpandCollapseStatePropertyId && one->has & HAS_EXPAND) whole(out, one->expand);
  else if (property == UIA_SelectionItemIsSelectedPropertyId && one->has & HAS_SELECT) truth(out, one->is & SELECTED);
  else if (property == UIA_ToggleToggleStatePropertyId && one->has & HAS_TOGGLE) whole(out, one->toggle);
  else if (property == UIA_ValueValuePropertyId && one->has & HAS_VALUE) {
    tell(form, TEXT_WAS_READ, n);
    words(out, one->text);
  } else {
    out->vt = VT_UNKNOWN;
    out->punkVal = &nothing;
  }
}

/* ---- Conditions ---- */

struct condition {
  IUIAutomationCondition face;
  LONG count;
  enum { ANYTHING, EQUAL, EITHER } kind;
  PROPERTYID property;
  VARIANT value;
  int length;
  struct condition *parts[16];
};

static void condition_free(struct condition *one) {
  for (int n = 0; n < one->length; n++) one->parts[n]->face.lpVtbl->Release(&one->parts[n]->face);
  VariantClear(&one->value);
  unmade(one);
}
UNKNOWN(IUIAutomationCondition, condition)
static IUIAutomationConditionVtbl condition_table = {
  .QueryInterface = condition_query, .AddRef = condition_add, .Release = condition_release};

static struct condition *new_condition(int kind) {
  struct condition *one = made(sizeof *one);
  one->face.lpVtbl = &condition_table;
  one->count = 1;
  one->kind = kind;
  VariantInit(&one->value);
  return one;
}

static BOOL is_equal(VARIANT *one, VARIANT *other) {
  LONG last, at;
  int a, b;
  if (one->vt != other->vt) return FALSE;
  if (one->vt == VT_I4) return one->lVal == other->lVal;
  if (one->vt != (VT_I4 | VT_ARRAY)) return FALSE;
  if (FAILED(SafeArrayGetUBound(other->parray, 1, &last)) || FAILED(SafeArrayGetUBound(one->parray, 1, &at))) return FALSE;
  if (at != last) return FALSE;
  for (at = 0; at <= last; at++) {
    SafeArrayGetElement(one->parray, &at, &a);
    SafeArrayGetElement(other->parray, &at, &b);
    if (a != b) return FALSE;
  }
  return TRUE;
}

static BOOL fits(struct condition *condition, struct form *form, int n) {
  VARIANT own;
  BOOL is;
  if (condition->kind == ANYTHING) return TRUE;
  if (condition->kind == EITHER) {
    for (int at = 0; at < condition->length; at++)
      if (fits(condition->parts[at], form, n)) return TRUE;
    return FALSE;
  }
  property_of(form, n, &form->items[n], condition->property, &own);
  is = is_equal(&own, &condition->value);
  VariantClear(&own);
  return is;
}

/* ---- Requests ---- */

enum { FIRST_PROPERTY = 30000, PROPERTIES = 200 };

struct request {
  IUIAutomationCacheRequest face;
  LONG count;
  BYTE asked[PROPERTIES];
};

static void request_free(struct request *one) {
  unmade(one);
}
UNKNOWN(IUIAutomationCacheRequest, request)
static CALL request_property(IUIAutomationCacheRequest *face, PROPERTYID property) {
  if (property < FIRST_PROPERTY || property >= FIRST_PROPERTY + PROPERTIES) return E_INVALIDARG;
  ((struct request *)face)->asked[property - FIRST_PROPERTY] = 1;
  return S_OK;
}
static CALL request_scope(IUIAutomationCacheRequest *face, enum TreeScope scope) {
  (void)face;
  return scope == TreeScope_Element ? S_OK : E_INVALIDARG;
}
static CALL request_filter(IUIAutomationCacheRequest *face, IUIAutomationCondition *filter) {
  (void)face;
  return filter->lpVtbl == &condition_table ? S_OK : E_INVALIDARG;
}
static IUIAutomationCacheRequestVtbl request_table = {
  .QueryInterface = request_query, .AddRef = request_add, .Release = request_release,
  .AddProperty = request_property, .put_TreeScope = request_scope, .put_TreeFilter = request_filter};

/* ---- Elements ---- */

struct element {
  IUIAutomationElement face;
  LONG count;
  struct form *form;
  int item;
  struct item then; /* as it was when it was read */
  BYTE asked[PROPERTIES];
};

static IUIAutomationElementVtbl element_table;
static IUIAutomationElementArrayVtbl array_table;

static void element_free(struct element *one) {
  InterlockedDecrement(&one->form->objects);
  unmade(one);
}
UNKNOWN(IUIAutomationElement, element)

static IUIAutomationElement *new_element(struct form *form, int item, IUIAutomationCacheRequest *request) {
  struct element *one = made(sizeof *one);
  one->face.lpVtbl = &element_table;
  one->count = 1;
  one->form = form;
  one->item = item;
  one->then = form->items[item];
  if (request) CopyMemory(one->asked, ((struct request *)request)->asked, PROPERTIES);
  InterlockedIncrement(&form->objects);
  return &one->face;
}

/* Asks the program, as a provider would. */
static HRESULT look(struct element *one) {
  HRESULT result = tell(one->form, WM_NULL, 0);
  if (FAILED(result)) return result;
  return is_there(one->form, one->item) ? S_OK : GONE;
}

static HRESULT deed(struct element *one, UINT message) {
  HRESULT result = look(one);
  if (FAILED(result)) return result;
  if (one->form->items[one->item].is & DISABLED) return NOT_ENABLED;
  return tell(one->form, message, one->item);
}

struct array {
  IUIAutomationElementArray face;
  LONG count;
  int length;
  IUIAutomationElement *all[MOST];
};

static void array_free(struct array *one) {
  for (int n = 0; n < one->length; n++) one->all[n]->lpVtbl->Release(one->all[n]);
  unmade(one);
}
UNKNOWN(IUIAutomationElementArray, array)
static CALL array_length(IUIAutomationElementArray *face, int *out) {
  *out = ((struct array *)face)->length;
  return S_OK;
}
static CALL array_element(IUIAutomationElementArray *face, int at, IUIAutomationElement **out) {
  struct array *one = (struct array *)face;
  *out = NULL;
  if (at < 0 || at >= one->length) return E_INVALIDARG;
  *out = one->all[at];
  (*out)->lpVtbl->AddRef(*out);
  return S_OK;
}
static IUIAutomationElementArrayVtbl array_table = {
  .QueryInterface = array_query, .AddRef = array_add, .Release = array_release,
  .get_Length = array_length, .GetElement = array_element};

static struct array *new_array(void) {
  struct array *one = made(sizeof *one);
  one->face.lpVtbl = &array_table;
  one->count = 1;
  return one;
}

static BOOL is_in_scope(struct element *one, int n, enum TreeScope scope) {
  struct form *form = one->form;
  if (n == one->item) return (scope & TreeScope_Element) != 0;
  if (scope & TreeScope_Descendants) return is_below(form, n, one->item);
  return (scope & TreeScope_Children) && form->items[n].parent == one->item;
}

static CALL element_find_all(IUIAutomationElement *face, enum TreeScope scope, IUIAutomationCondition *condition,
                             IUIAutomationCacheRequest *request, IUIAutomationElementArray **out) {
  struct element *one = (struct element *)face;
  struct array *found;
  HRESULT result = look(one);
  *out = NULL;
  if (FAILED(result)) return result;
  found = new_array();
  for (int n = 0; n < one->form->count; n++) {
    if (!is_in_scope(one, n, scope) || !is_there(one->form, n)) continue;
    if (fits((struct condition *)condition, one->form, n)) found->all[found->length++] = new_element(one->form, n, request);
  }
  *out = &found->face;
  return S_OK;
}

static CALL element_find_first(IUIAutomationElement *face, enum TreeScope scope, IUIAutomationCondition *condition,
                               IUIAutomationCacheRequest *request, IUIAutomationElement **out) {
  IUIAutomationElementArray *all;
  HRESULT result = element_find_all(face, scope, condition, request, &all);
  *out = NULL;
  if (FAILED(result)) return result;
  if (((struct array *)all)->length > 0) result = array_element(all, 0, out);
  array_release(all);
  return result;
}

static CALL element_again(IUIAutomationElement *face, IUIAutomationCacheRequest *request, IUIAutomationElement **out) {
  struct element *one = (struct element *)face;
  HRESULT result = look(one);
  *out = SUCCEEDED(result) ? new_element(one->form, one->item, request) : NULL;
  return result;
}

static CALL element_now(IUIAutomationElement *face, PROPERTYID property, BOOL bare, VARIANT *out) {
  struct element *one = (struct element *)face;
  HRESULT result = look(one);
  VariantInit(out);
  if (FAILED(result) || !bare) return FAILED(result) ? result : E_NOTIMPL;
  property_of(one->form, one->item, &one->form->items[one->item], property, out);
  return S_OK;
}

static CALL element_then(IUIAutomationElement *face, PROPERTYID property, BOOL bare, VARIANT *out) {
  struct element *one = (struct element *)face;
  VariantInit(out);
  if (property < FIRST_PROPERTY || property >= FIRST_PROPERTY + PROPERTIES) return E_INVALIDARG;
  if (!bare || !one->asked[property - FIRST_PROPERTY]) return E_INVALIDARG;
  property_of(one->form, one->item, &one->then, property, out);
  return S_OK;
}

static CALL element_label(IUIAutomationElement *face, IUIAutomationElement **out) {
  struct element *one = (struct element *)face;
  int label = one->form->items[one->item].label;
  *out = label > 0 ? new_element(one->form, label, NULL) : NULL;
  return S_OK;
}

static CALL element_focus(IUIAutomationElement *face) {
  return deed((struct element *)face, DO_FOCUS);
}

static CALL element_pattern(IUIAutomationElement *face, PATTERNID pattern, REFIID iid, void **out);

static IUIAutomationElementVtbl element_table = {
  .QueryInterface = element_query, .AddRef = element_add, .Release = element_release,
  .SetFocus = element_focus, .FindFirstBuildCache = element_find_first, .FindAllBuildCache = element_find_all,
  .BuildUpdatedCache = element_again, .GetCurrentPropertyValueEx = element_now, .GetCachedPropertyValueEx = element_then,
  .GetCurrentPatternAs = element_pattern, .get_CurrentLabeledBy = element_label};

/* ---- Patterns ---- */

struct pattern {
  const void *table;
  LONG count;
  struct element *element;
};

static CALL pattern_query(struct pattern *face, REFIID iid, void **out) {
  (void)face, (void)iid;
  *out = NULL;
  return E_NOINTERFACE;
}
static ULONG STDMETHODCALLTYPE pattern_add(struct pattern *one) {
  return InterlockedIncrement(&one->count);
}
static ULONG STDMETHODCALLTYPE pattern_release(struct pattern *one) {
  ULONG left = InterlockedDecrement(&one->count);
  if (left > 0) return left;
  element_release(&one->element->face);
  unmade(one);
  return 0;
}
static struct item *item_of(struct pattern *one) {
  return &one->element->form->items[one->element->item];
}

typedef HRESULT (STDMETHODCALLTYPE *method)(struct pattern *);
typedef HRESULT (STDMETHODCALLTYPE *whole_method)(struct pattern *, int *);
typedef HRESULT (STDMETHODCALLTYPE *real_method)(struct pattern *, double *);
struct unknown {
  HRESULT (STDMETHODCALLTYPE *query)(struct pattern *, REFIID, void **);
  ULONG (STDMETHODCALLTYPE *add)(struct pattern *);
  ULONG (STDMETHODCALLTYPE *release)(struct pattern *);
};
#define UNKNOWN_OF_PATTERN {pattern_query, pattern_add, pattern_release}

/* IUIAutomationInvokePattern, IUIAutomationTogglePattern, IUIAutomationExpandCollapsePattern, IUIAutomationScrollItemPattern,
   IUIAutomationSelectionItemPattern, IUIAutomationRangeValuePattern, IUIAutomationGridPattern, IUIAutomationTablePattern. */
struct invoke_table { struct unknown unknown; method Invoke; };
struct toggle_table { struct unknown unknown; method Toggle; whole_method get_CurrentToggleState, get_CachedToggleState; };
struct expand_table { struct unknown unknown; method Expand, Collapse; whole_method get_CurrentExpandCollapseState, get_CachedExpandCollapseState; };
struct scroll_table { struct unknown unknown; method ScrollIntoView; };
struct select_table {
  struct unknown unknown;
  method Select, AddToSelection, RemoveFromSelection;
  whole_method get_CurrentIsSelected;
  void *get_CurrentSelectionContainer;
  whole_method get_CachedIsSelected;
  void *get_CachedSelectionContainer;
};
struct range_table {
  struct unknown unknown;
  HRESULT (STDMETHODCALLTYPE *SetValue)(struct pattern *, double);
  real_method get_CurrentValue;
  whole_method get_CurrentIsReadOnly;
  real_method get_CurrentMaximum, get_CurrentMinimum, get_CurrentLargeChange, get_CurrentSmallChange, get_CachedValue;
};
struct grid_table {
  struct unknown unknown;
  HRESULT (STDMETHODCALLTYPE *GetItem)(struct pattern *, int, int, IUIAutomationElement **);
  whole_method get_CurrentRowCount, get_CurrentColumnCount, get_CachedRowCount, get_CachedColumnCount;
};
struct headers_table {
  struct unknown unknown;
  HRESULT (STDMETHODCALLTYPE *GetCurrentRowHeaders)(struct pattern *, IUIAutomationElementArray **);
  HRESULT (STDMETHODCALLTYPE *GetCurrentColumnHeaders)(struct pattern *, IUIAutomationElementArray **);
  whole_method get_CurrentRowOrColumnMajor;
};

static CALL invoke(struct pattern *one) { return deed(one->element, DO_INVOKE); }
static CALL toggle(struct pattern *one) { return deed(one->element, DO_TOGGLE); }
static CALL expand(struct pattern *one) { return deed(one->element, DO_EXPAND); }
static CALL collapse(struct pattern *one) { return deed(one->element, DO_COLLAPSE); }
static CALL choose(struct pattern *one) { return deed(one->element, DO_SELECT); }
static CALL scroll(struct pattern *one) { return deed(one->element, DO_SCROLL); }
static CALL expand_state(struct pattern *one, int *out) {
  *out = item_of(one)->expand;
  return S_OK;
}
static CALL set_number(struct pattern *one, double number) {
  one->element->form->number = number;
  return deed(one->element, DO_NUMBER);
}
static CALL number_of(struct pattern *one, double *out) {
  *out = item_of(one)->number;
  return S_OK;
}
static CALL rows(struct pattern *one, int *out) {
  *out = item_of(one)->rows;
  return S_OK;
}
static CALL columns(struct pattern *one, int *out) {
  *out = item_of(one)->columns;
  return S_OK;
}
static CALL cell(struct pattern *one, int row, int column, IUIAutomationElement **out) {
  struct form *form = one->element->form;
  *out = NULL;
  for (int n = 0; n < form->count; n++) {
    struct item *item = &form->items[n];
    if (!(item->has & HAS_PLACE_IN_GRID) || item->parent != one->element->item) continue;
    if (item->row == row && item->column == column) *out = new_element(form, n, NULL);
  }
  return *out ? S_OK : E_INVALIDARG;
}
static CALL headers(struct pattern *one, IUIAutomationElementArray **out) {
  struct form *form = one->element->form;
  struct array *found = new_array();
  for (int n = 0; n < form->count; n++) {
    if (form->items[n].type != UIA_HeaderItemControlTypeId || !is_below(form, n, one->element->item)) continue;
    found->all[found->length++] = new_element(form, n, NULL);
  }
  *out = &found->face;
  return S_OK;
}

/* Value: as Wine's header has it. */
static CALL set_text(IUIAutomationValuePattern *face, BSTR text) {
  struct pattern *one = (struct pattern *)face;
  if (item_of(one)->is & READ_ONLY) return E_ACCESSDENIED;
  if (SysStringLen(text) >= LETTERS) return E_INVALIDARG;
  CopyMemory(one->element->form->text, text, (SysStringLen(text) + 1) * sizeof *text);
  return deed(one->element, DO_TEXT);
}
static CALL text_of(IUIAutomationValuePattern *face, BSTR *out) {
  struct pattern *one = (struct pattern *)face;
  HRESULT result = tell(one->element->form, TEXT_WAS_READ, one->element->item);
  *out = SUCCEEDED(result) ? SysAllocString(item_of(one)->text) : NULL;
  return result;
}
static CALL is_read_only(IUIAutomationValuePattern *face, BOOL *out) {
  *out = (item_of((struct pattern *)face)->is & READ_ONLY) != 0;
  return S_OK;
}
static CALL value_query(IUIAutomationValuePattern *face, REFIID iid, void **out) {
  return pattern_query((struct pattern *)face, iid, out);
}
static ULONG STDMETHODCALLTYPE value_add(IUIAutomationValuePattern *face) { return pattern_add((struct pattern *)face); }
static ULONG STDMETHODCALLTYPE value_release(IUIAutomationValuePattern *face) { return pattern_release((struct pattern *)face); }

static IUIAutomationValuePatternVtbl value_table = {
  .QueryInterface = value_query, .AddRef = value_add, .Release = value_release,
  .SetValue = set_text, .get_CurrentValue = text_of, .get_CurrentIsReadOnly = is_read_only};
static struct invoke_table invoke_table = {UNKNOWN_OF_PATTERN, .Invoke = invoke};
static struct toggle_table toggle_table = {UNKNOWN_OF_PATTERN, .Toggle = toggle};
static struct expand_table expand_table = {
  UNKNOWN_OF_PATTERN, .Expand = expand, .Collapse = collapse, .get_CurrentExpandCollapseState = expand_state};
static struct scroll_table scroll_table = {UNKNOWN_OF_PATTERN, .ScrollIntoView = scroll};
static struct select_table select_table = {UNKNOWN_OF_PATTERN, .Select = choose};
static struct range_table range_table = {UNKNOWN_OF_PATTERN, .SetValue = set_number, .get_CurrentValue = number_of};
static struct grid_table grid_table = {
  UNKNOWN_OF_PATTERN, .GetItem = cell, .get_CurrentRowCount = rows, .get_CurrentColumnCount = columns};
static struct headers_table headers_table = {UNKNOWN_OF_PATTERN, .GetCurrentColumnHeaders = headers};

/* The patterns: number, what an element has then, interface (UIAutomationClient.h), table. */
static const struct {
  PATTERNID id;
  int has;
  GUID iid;
  const void *table;
} patterns[] = {
  {UIA_InvokePatternId, HAS_INVOKE, {0xfb377fbe, 0x8ea6, 0x46d5, {0x9c, 0x73, 0x64, 0x99, 0x64, 0x2d, 0x30, 0x59}}, &invoke_table},
  {UIA_ValuePatternId, HAS_VALUE, {0xa94cd8b1, 0x0844, 0x4cd6, {0x9d, 0x2d, 0x64, 0x05, 0x37, 0xab, 0x39, 0xe9}}, &value_table},
  {UIA_RangeValuePatternId, HAS_RANGE, {0x59213f4f, 0x7346, 0x49e5, {0xb1, 0x20, 0x80, 0x55, 0x59, 0x87, 0xa1, 0x48}}, &range_table},
  {UIA_ExpandCollapsePatternId, HAS_EXPAND, {0x619be086, 0x1f4e, 0x4ee4, {0xba, 0xfa, 0x21, 0x01, 0x28, 0x73, 0x87, 0x30}}, &expand_table},
  {UIA_GridPatternId, HAS_GRID, {0x414c3cdc, 0x856b, 0x4f5b, {0x85, 0x38, 0x31, 0x31, 0xc6, 0x30, 0x25, 0x50}}, &grid_table},
  {UIA_SelectionItemPatternId, HAS_SELECT, {0xa8efa66a, 0x0fda, 0x421a, {0x91, 0x94, 0x38, 0x02, 0x1f, 0x35, 0x78, 0xea}}, &select_table},
  {UIA_TablePatternId, HAS_GRID, {0x620e691c, 0xea96, 0x4710, {0xa8, 0x50, 0x75, 0x4b, 0x24, 0xce, 0x24, 0x17}}, &headers_table},
  {UIA_TogglePatternId, HAS_TOGGLE, {0x94cf8058, 0x9b8d, 0x4ab9, {0x8b, 0xfd, 0x4c, 0xd0, 0xa3, 0x3c, 0x8c, 0x70}}, &toggle_table},
  {UIA_ScrollItemPatternId, HAS_SCROLL, {0xb488300f, 0xd015, 0x4f19, {0x9c, 0x29, 0xbb, 0x59, 0x5e, 0x36, 0x45, 0xef}}, &scroll_table},
};

static CALL element_pattern(IUIAutomationElement *face, PATTERNID pattern, REFIID iid, void **out) {
  struct element *element = (struct element *)face;
  HRESULT result = look(element);
  *out = NULL;
  if (FAILED(result)) return result;
  for (size_t n = 0; n < sizeof patterns / sizeof *patterns; n++) {
    struct pattern *one;
    if (patterns[n].id != pattern || !(element->form->items[element->item].has & patterns[n].has)) continue;
    if (!IsEqualIID(iid, &patterns[n].iid)) return E_NOINTERFACE;
    one = made(sizeof *one);
    one->table = patterns[n].table;
    one->count = 1;
    one->element = element;
    element_add(face);
    *out = one;
  }
  return S_OK;
}

/* ---- The client ---- */

struct walker {
  IUIAutomationTreeWalker face;
  LONG count;
};

static void walker_free(struct walker *one) {
  unmade(one);
}
UNKNOWN(IUIAutomationTreeWalker, walker)
static CALL walker_parent(IUIAutomationTreeWalker *face, IUIAutomationElement *of, IUIAutomationCacheRequest *request,
                          IUIAutomationElement **out) {
  struct element *one = (struct element *)of;
  HRESULT result = look(one);
  int parent = one->form->items[one->item].parent;
  (void)face;
  *out = SUCCEEDED(result) && parent >= 0 ? new_element(one->form, parent, request) : NULL;
  return result;
}
static IUIAutomationTreeWalkerVtbl walker_table = {
  .QueryInterface = walker_query, .AddRef = walker_add, .Release = walker_release, .GetParentElementBuildCache = walker_parent};

struct client {
  IUIAutomation2 face;
  LONG count;
};

static void client_free(struct client *one) {
  unmade(one);
}
static CALL client_query(IUIAutomation2 *face, REFIID iid, void **out) {
  *out = NULL;
  if (!IsEqualIID(iid, &IID_IUnknown) && !IsEqualIID(iid, &IID_IUIAutomation) && !IsEqualIID(iid, &IID_IUIAutomation2))
    return E_NOINTERFACE;
  InterlockedIncrement(&((struct client *)face)->count);
  *out = face;
  return S_OK;
}
static ULONG STDMETHODCALLTYPE client_add(IUIAutomation2 *face) {
  return InterlockedIncrement(&((struct client *)face)->count);
}
static ULONG STDMETHODCALLTYPE client_release(IUIAutomation2 *face) {
  ULONG left = InterlockedDecrement(&((struct client *)face)->count);
  if (left == 0) client_free((struct client *)face);
  return left;
}
static CALL client_window(IUIAutomation2 *face, UIA_HWND window, IUIAutomationElement **out) {
  struct form *form = form_of(window);
  HRESULT result = form ? tell(form, WM_NULL, 0) : GONE;
  (void)face;
  *out = NULL;
  if (FAILED(result)) return result;
  for (int n = 0; n < form->count; n++)
    if (form->items[n].window == window) *out = new_element(form, n, NULL);
  return *out ? S_OK : GONE;
}
static CALL client_walker(IUIAutomation2 *face, IUIAutomationCondition *condition, IUIAutomationTreeWalker **out) {
  struct walker *one = made(sizeof *one);
  (void)face;
  one->face.lpVtbl = &walker_table;
  one->count = 1;
  *out = &one->face;
  return condition->lpVtbl == &condition_table ? S_OK : E_INVALIDARG;
}
static CALL client_anything(IUIAutomation2 *face, IUIAutomationCondition **out) {
  (void)face;
  *out = &new_condition(ANYTHING)->face;
  return S_OK;
}
static CALL client_request(IUIAutomation2 *face, IUIAutomationCacheRequest **out) {
  struct request *one = made(sizeof *one);
  (void)face;
  one->face.lpVtbl = &request_table;
  one->count = 1;
  *out = &one->face;
  return S_OK;
}
static CALL client_equal(IUIAutomation2 *face, PROPERTYID property, VARIANT value, IUIAutomationCondition **out) {
  struct condition *one = new_condition(EQUAL);
  (void)face;
  one->property = property;
  *out = &one->face;
  return VariantCopy(&one->value, &value);
}
static CALL client_either(IUIAutomation2 *face, IUIAutomationCondition **all, int length, IUIAutomationCondition **out) {
  struct condition *one;
  (void)face;
  *out = NULL;
  if (length < 2 || length > 16) return E_INVALIDARG;
  one = new_condition(EITHER);
  for (int n = 0; n < length; n++) {
    condition_add(all[n]);
    one->parts[one->length++] = (struct condition *)all[n];
  }
  *out = &one->face;
  return S_OK;
}
static CALL client_connection(IUIAutomation2 *face, DWORD ms) {
  (void)face;
  return ms > 0 ? S_OK : E_INVALIDARG;
}
static CALL client_transaction(IUIAutomation2 *face, DWORD ms) {
  (void)face;
  limit = ms;
  return S_OK;
}
static IUIAutomation2Vtbl client_table = {
  .QueryInterface = client_query, .AddRef = client_add, .Release = client_release,
  .ElementFromHandle = client_window, .CreateTreeWalker = client_walker, .get_ControlViewCondition = client_anything,
  .CreateCacheRequest = client_request, .CreateTrueCondition = client_anything, .CreatePropertyCondition = client_equal,
  .CreateOrConditionFromNativeArray = client_either, .put_ConnectionTimeout = client_connection,
  .put_TransactionTimeout = client_transaction};

/* ---- The class ---- */

static CALL class_query(IClassFactory *face, REFIID iid, void **out) {
  BOOL is = IsEqualIID(iid, &IID_IUnknown) || IsEqualIID(iid, &IID_IClassFactory);
  *out = is ? face : NULL;
  return is ? S_OK : E_NOINTERFACE;
}
static ULONG STDMETHODCALLTYPE class_count(IClassFactory *face) {
  (void)face;
  return 1;
}
static CALL class_create(IClassFactory *face, IUnknown *outer, REFIID iid, void **out) {
  struct client *one;
  HRESULT result;
  (void)face;
  *out = NULL;
  if (outer) return CLASS_E_NOAGGREGATION;
  one = made(sizeof *one);
  one->face.lpVtbl = &client_table;
  one->count = 1;
  result = client_query(&one->face, iid, out);
  client_release(&one->face);
  return result;
}
static CALL class_lock(IClassFactory *face, BOOL lock) {
  (void)face, (void)lock;
  return S_OK;
}
static IClassFactoryVtbl class_table = {class_query, class_count, class_count, class_create, class_lock};
static IClassFactory the_class = {&class_table};

CALL DllGetClassObject(REFCLSID clsid, REFIID iid, void **out) {
  *out = NULL;
  if (!IsEqualCLSID(clsid, &CLSID_CUIAutomation) && !IsEqualCLSID(clsid, &CLSID_CUIAutomation8)) return CLASS_E_CLASSNOTAVAILABLE;
  return class_query(&the_class, iid, out);
}

CALL DllCanUnloadNow(void) {
  return S_FALSE;
}
