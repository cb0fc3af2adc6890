/* Python's configuration for builds for another processor: what the limited API uses of it, on systems of 64 bits. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H
#define HAVE_LONG_LONG 1
#define HAVE_STDINT_H 1
#define HAVE_SSIZE_T 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_STAT_H 1
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF_OFF_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define STDC_HEADERS 1
#define WITH_THREAD 1
#endif
