/* What robotjs has in place of user32.dll: it sends keys by scan code alone, which Wine 8 drops. The virtual key is added. */
#include <windows.h>

UINT WINAPI SendKeysToo(UINT count, INPUT *inputs, int size) {
  for (UINT nth = 0; nth < count; nth++) {
    KEYBDINPUT *key = &inputs[nth].ki;
    if (inputs[nth].type != INPUT_KEYBOARD || !(key->dwFlags & KEYEVENTF_SCANCODE)) continue;
    UINT prefix = key->dwFlags & KEYEVENTF_EXTENDEDKEY ? 0xe000 : 0;
    key->wVk = (WORD)MapVirtualKeyW(key->wScan | prefix, MAPVK_VSC_TO_VK_EX);
    if (key->wVk == 0) key->wVk = (WORD)MapVirtualKeyW(key->wScan & 0xff, MAPVK_VSC_TO_VK);
    key->dwFlags &= ~(DWORD)KEYEVENTF_SCANCODE;
  }
  return SendInput(count, inputs, size);
}
