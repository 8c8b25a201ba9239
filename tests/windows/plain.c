// A library that is not a plugin.
__declspec(dllexport) int answer(void) { return 42; }
