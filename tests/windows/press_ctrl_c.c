/* press_ctrl_c.exe FILE COMMAND...: starts a command in a console, and sends Ctrl-C to all processes of the console once FILE
   exists. Its exit code is that of the command. Wine does not pass on a Ctrl-C from a terminal of Linux. */
#include <stdio.h>
#include <string.h>
#include <windows.h>

int wmain(int count, wchar_t **words) {
  wchar_t line[8192] = L"";
  for (int at = 2; at < count; at++) {
    if (wcslen(line) + wcslen(words[at]) + 4 > 8192) return 99;
    wcscat(wcscat(wcscat(line, L"\""), words[at]), L"\" ");
  }
  STARTUPINFOW start = {.cb = sizeof start};
  PROCESS_INFORMATION process;
  if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) {
    fprintf(stderr, "the command cannot be started: error %lu\n", GetLastError());
    return 98;
  }
  /* Only now: a process inherits that its parent ignores Ctrl-C. */
  SetConsoleCtrlHandler(NULL, TRUE);
  int pressed = 0;
  while (WaitForSingleObject(process.hProcess, 100) == WAIT_TIMEOUT) {
    if (!pressed && GetFileAttributesW(words[1]) != INVALID_FILE_ATTRIBUTES) {
      pressed = 1;
      if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) {
        fprintf(stderr, "Ctrl-C cannot be sent: error %lu\n", GetLastError());
        return 97;
      }
    }
  }
  DWORD code = 96;
  GetExitCodeProcess(process.hProcess, &code);
  return (int)code;
}
