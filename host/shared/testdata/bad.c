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
	for (int i = 0; i < 11; i++) { /* up to execute */
		memcpy(f + i, (void *[]){(void *)(uintptr_t)other}, sizeof *f);
	}
#ifdef NO_ABI
	return NULL;
#endif
#ifdef OLD_ABI /* the table of version 1 was 112 bytes long */
	api.abi = 1;
	api.size = 112;
	return host_abi >= 1 ? &api : NULL;
#endif
#ifdef OLD_ABI_ONLY
	api.abi = 1;
	api.size = 112;
	return host_abi == 1 ? &api : NULL;
#endif
#ifdef NEW_ABI
	api.abi = 3;
#endif
#ifdef SHORT_TABLE
	api.size = 64;
#endif
#ifdef NO_FUNCTION
	api.execute = NULL;
#endif
#ifdef PART_OF_GROUP
	memcpy(&api.define, (void *[]){(void *)(uintptr_t)other}, sizeof *f);
#endif
#ifdef CRASH
	abort();
#endif
	return &api;
}
#endif
