/* Runs the program that its arguments name in a console of its own, sends a Ctrl-C there when standard input ends, and ends
   with the exit code of the program. */
#include <windows.h>

static BOOL WINAPI ignore(DWORD event) {
  (void)event;
  return TRUE;
}

int wmain(void) {
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
  STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
  PROCESS_INFORMATION program;
  wchar_t *line = GetCommandLineW();
  HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  char byte;
  DWORD count, code = 1;

  start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
  start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
  start.hStdInput = CreateFileW(L"NUL", GENERIC_READ, 0, &inherited, OPEN_EXISTING, 0, NULL);
  FreeConsole();
  if (!AllocConsole()) return 251;
  /* The name of this program, which ends with a quotation mark or a space. */
  line = wcschr(line + 1, *line == '"' ? '"' : ' ') + 1;
  while (*line == ' ') line++;
  if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &program)) return 252;
  SetConsoleCtrlHandler(ignore, TRUE);
  while (ReadFile(input, &byte, 1, &count, NULL) && count > 0) continue;
  if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return 253;
  WaitForSingleObject(program.hProcess, INFINITE);
  GetExitCodeProcess(program.hProcess, &code);
  return (int)code;
}
