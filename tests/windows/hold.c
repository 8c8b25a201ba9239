// Keeps a file open until standard input ends: `hold FILE SHARE`, where SHARE is the sum of what others may do
// meanwhile: 1 read, 2 write, 4 delete.
#include <stdio.h>
#include <windows.h>

int wmain(int count, wchar_t **arguments) {
    if (count != 3) return 2;
    HANDLE file = CreateFileW(arguments[1], GENERIC_READ, _wtoi(arguments[2]), NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return 1;
    puts("held");
    fflush(stdout);
    getchar();
    return 0;
}
