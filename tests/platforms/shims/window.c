/* A window of one colour with the title that is the first argument: prints what it is given, a line for each event. */
#include <stdio.h>
#include <windows.h>
#include <windowsx.h>

static LRESULT CALLBACK receive(HWND window, UINT message, WPARAM w, LPARAM l) {
  switch (message) {
    case WM_KEYDOWN: printf("+key %u\n", (unsigned)w); break;
    case WM_KEYUP: printf("-key %u\n", (unsigned)w); break;
    case WM_CHAR: printf("character %u\n", (unsigned)w); break;
    case WM_LBUTTONDOWN: printf("+left %d %d\n", GET_X_LPARAM(l), GET_Y_LPARAM(l)); break;
    case WM_LBUTTONUP: printf("-left %d %d\n", GET_X_LPARAM(l), GET_Y_LPARAM(l)); break;
    case WM_RBUTTONDOWN: printf("+right %d %d\n", GET_X_LPARAM(l), GET_Y_LPARAM(l)); break;
    case WM_MOUSEWHEEL: printf("wheel %d\n", GET_WHEEL_DELTA_WPARAM(w)); break;
    case WM_CLOSE: printf("close\n"); PostQuitMessage(0); break;
    default: break;
  }
  return DefWindowProcW(window, message, w, l);
}

int wmain(int count, wchar_t **arguments) {
  WNDCLASSW kind = {.lpfnWndProc = receive, .lpszClassName = L"test", .hbrBackground = CreateSolidBrush(RGB(18, 52, 86))};
  MSG message;
  setvbuf(stdout, NULL, _IONBF, 0);
  RegisterClassW(&kind);
  CreateWindowW(L"test", count > 1 ? arguments[1] : L"test", WS_OVERLAPPEDWINDOW | WS_VISIBLE, 100, 80, 400, 300, NULL, NULL, NULL, NULL);
  while (GetMessageW(&message, NULL, 0, 0) > 0) {
    TranslateMessage(&message);
    DispatchMessageW(&message);
    if (message.message == WM_PAINT) printf("painted\n");
  }
  return 0;
}
