/* A stand-in for TFLM's log: what a platform has to define. */
#ifndef STANDIN_DEBUG_LOG_H
#define STANDIN_DEBUG_LOG_H

#include <stdarg.h>
#include <stddef.h>

extern "C" {
void DebugLog(const char *format, va_list args);
int DebugVsnprintf(char *buffer, size_t buf_size, const char *format, va_list vlist);
}

#endif
