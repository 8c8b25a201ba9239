// The one function of this library that Rust's standard library calls; Debian's wine does not have it.
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *data, unsigned long size);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, unsigned long long size) {
    return SystemFunction036(data, (unsigned long)size);
}
