/* Shared objects that a host refuses, by the macro that is defined. */
#include "burn_backend.h"

#include <stdlib.h>
#include <string.h>

#ifndef NO_ENTRY
static int32_t no_device(const burn_config *c, burn_backend **out, burn_error *e) {
	(void)c, (void)out;
	strcpy(e->text, "no such card");
	return BURN_ERR_NOT_FOUND;
}

static void other(void) {}

BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi) {
	static burn_api api = {BURN_HEAD(burn_api), no_device};
	void **f = (void **)&api.close;
	(void)host_abi;
	for (int i = 0; i < 12; i++) {
		memcpy(f + i, (void *[]){(void *)(uintptr_t)other}, sizeof *f);
	}
#ifdef OTHER_ABI
	return NULL;
#endif
#ifdef SHORT_TABLE
	api.size = 64;
#endif
#ifdef NO_FUNCTION
	api.submit = NULL;
#endif
#ifdef CRASH
	abort();
#endif
	return &api;
}
#endif
