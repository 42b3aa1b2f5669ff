/*
 * What C++ and the C library ask of the program around them, without a heap: an engine that needs `new` or `malloc`
 * does not link. Names are those of the Itanium C++ ABI and its supplement for Arm. Not linked where nothing asks.
 */
void *__dso_handle;
int __aeabi_atexit(void *object, void (*destroy)(void *), void *library);
void __cxa_pure_virtual(void);
void abort(void);
void __assert_func(const char *file, int line, const char *function, const char *condition);

/* The program does not end: nothing is destroyed. */
int __aeabi_atexit(void *object, void (*destroy)(void *), void *library)
{
    (void)object;
    (void)destroy;
    (void)library;
    return 0;
}

/* What cannot go on faults, and so resets the board; an engine may have another way. */
__attribute__((weak)) void abort(void)
{
    for (;;) {
        __builtin_trap();
    }
}

void __cxa_pure_virtual(void)
{
    abort();
}

void __assert_func(const char *file, int line, const char *function, const char *condition)
{
    (void)file;
    (void)line;
    (void)function;
    (void)condition;
    abort();
}
