// Runs a command and interrupts it as Ctrl-C does, once it has had time to begin: `interrupt MILLISECONDS COMMAND`, the
// command as one argument. Ends with 0 if the command ended then. Its own status says nothing: wine makes it 0, Windows
// 0xc000013a.
#include <windows.h>

static BOOL WINAPI ignore(DWORD event) { return TRUE; }

int wmain(int count, wchar_t **arguments) {
    if (count != 3) return 2;
    STARTUPINFOW start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    if (!CreateProcessW(NULL, arguments[2], NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) return 3;
    SetConsoleCtrlHandler(ignore, TRUE);
    Sleep(_wtoi(arguments[1]));
    if (WaitForSingleObject(process.hProcess, 0) != WAIT_TIMEOUT) return 4;
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return 5;
    DWORD waited = WaitForSingleObject(process.hProcess, 10000);
    TerminateProcess(process.hProcess, 1);
    return waited == WAIT_OBJECT_0 ? 0 : 6;
}
