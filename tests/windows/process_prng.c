/* bcryptprimitives.dll for Wine before 9, which lacks it: the one function of it that Rust's library calls, by way of the
   function that had the same task before. Tests put it next to the program; no release contains it. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *buffer, SIZE_T size) {
  return RtlGenRandom(buffer, (ULONG)size);
}
