// Serves launches: reads words of 64 bits, the kernel, the grid, the number of arguments, each as slot+1 and offset or 0 and bits, the
// number of slots and their bytes, then the slots; answers with 0 and the slots, or with 1 if the block stands still.
static void get(void* p, size_t n) { if (fread(p, 1, n, stdin) != n) exit(0); }
static uint64_t word() { uint64_t w; get(&w, 8); return w; }

int main() {
	static char* memory[64];
	static size_t room[64];
	for (;;) {
		const uint64_t k = word();
		uint64_t grid[3], args[64], slot[64], bytes[64];
		for (uint64_t& g : grid) g = word();
		const uint64_t n = word();
		for (uint64_t i = 0; i < n; i++) slot[i] = word(), args[i] = word();
		const uint64_t slots = word();
		for (uint64_t i = 0; i < slots; i++) {
			bytes[i] = word();
			if (room[i] < bytes[i]) { free(memory[i]); memory[i] = (char*)aligned_alloc(256, (bytes[i] + 255) / 256 * 256); room[i] = bytes[i]; }
		}
		for (uint64_t i = 0; i < slots; i++) get(memory[i], bytes[i]);
		for (uint64_t i = 0; i < n; i++) if (slot[i]) args[i] += (uint64_t)memory[slot[i] - 1];
		const uint64_t failed = !launch(kernels[k], grid, args);
		fwrite(&failed, 8, 1, stdout);
		for (uint64_t i = 0; i < slots; i++) fwrite(memory[i], 1, bytes[i], stdout);
		fflush(stdout);
	}
}
