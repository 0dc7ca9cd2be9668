// A record of the calls that a stub library got, which tests read.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char record[1 << 16];
static int used;

static void say(const char *format, ...) {
	va_list list;
	va_start(list, format);
	if (used < (int)sizeof record - 512) used += vsnprintf(record + used, sizeof record - used, format, list);
	va_end(list);
}

const char *stub_record(void) { return record; }
void stub_clear(void) { used = 0; record[0] = 0; }

// What the stub is told to do: each library says what its settings are.
static long long setting[16];
void stub_set(int which, long long value) { setting[which] = value; }
