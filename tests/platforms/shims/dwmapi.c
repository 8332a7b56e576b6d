/* dwmapi.dll: node-screenshots leaves out a window whose frame is not known, and Wine 8 knows none. */
#include <windows.h>

enum { EXTENDED_FRAME_BOUNDS = 9, CLOAKED = 14 }; /* DWMWINDOWATTRIBUTE (dwmapi.h) */

__declspec(dllexport) HRESULT WINAPI DwmGetWindowAttribute(HWND window, DWORD attribute, PVOID value, DWORD size) {
  if (attribute == EXTENDED_FRAME_BOUNDS && size >= sizeof(RECT)) {
    return GetWindowRect(window, (RECT *)value) ? S_OK : E_FAIL;
  }
  if (attribute == CLOAKED && size >= sizeof(DWORD)) {
    *(DWORD *)value = 0;
    return S_OK;
  }
  return E_NOTIMPL;
}

__declspec(dllexport) HRESULT WINAPI DwmIsCompositionEnabled(BOOL *enabled) {
  *enabled = TRUE;
  return S_OK;
}
