/* What Debian's libstdc++, built for glibc, asks of a C library and musl has not, or has under another name. Good enough to
   load it and run a smoke test: thread-local destructors never run. */
#include <locale.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

char __libc_single_threaded = 0;

/* The unwinder then asks dl_iterate_phdr. */
int _dl_find_object(void *address, void *result) {
  return -1;
}

unsigned arc4random(void) {
  unsigned value;
  getrandom(&value, sizeof value, 0);
  return value;
}

size_t __strftime_l(char *text, size_t size, const char *format, const struct tm *time, locale_t locale) {
  return strftime_l(text, size, format, time, locale);
}

int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library) {
  return 0;
}

/* std::istream::ignore(long) and its wide form. */
void _ZNSi6ignoreEl(void) {
  abort();
}
void _ZNSt13basic_istreamIwSt11char_traitsIwEE6ignoreEl(void) {
  abort();
}
