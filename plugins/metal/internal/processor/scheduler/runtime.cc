// The scheduler of threadgroups on the processor: each thread that meets others is a fiber with a stack of its own, which runs until it
// waits. Threads of a simdgroup that exchange values, and those of a threadgroup at a barrier, go on when all have come. One launch at a
// time.
#include <sys/mman.h>

enum { lanes = 32, most = 1024, stack = 256 << 10 };
enum state { ready, meeting, barrier, ended };

struct place { unsigned thread, lane, block[3], blocks[3]; };
typedef void (*entry)(void** args, const place* at);

struct fiber {
	void* sp;
	state now;
	unsigned long slot[2]; // what it gives others, at each other meeting
	unsigned long meetings;
	place at;
};

static fiber fibers[most];
static char* stacks;
static fiber* current;
static void* scheduler;
static entry body;
static void** arguments;

extern "C" void burn_switch(void** save, void* to);
#if defined(__x86_64__)
asm(".text\n.globl burn_switch\n.type burn_switch,@function\nburn_switch:\n"
	"pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
	"movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
	"popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
enum { saved = 6 * 8, back = 6 }; // bytes below the return address, its index
#elif defined(__aarch64__)
asm(".text\n.globl burn_switch\n.type burn_switch,@function\nburn_switch:\n"
	"sub sp, sp, #160\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\n"
	"stp x29, x30, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
	"mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
	"ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\n"
	"ldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
	"add sp, sp, #160\nret\n");
enum { saved = 144, back = 11 };
#endif

static void wait(state s) {
	fiber* f = current;
	f->now = s;
	burn_switch(&f->sp, scheduler);
}

static void run() {
	body(arguments, &current->at);
	wait(ended);
	__builtin_trap();
}

static void begin(fiber* f, unsigned i) {
	void** top = (void**)(stacks + (i + 1ul) * stack - 16);
	void** sp = (void**)((char*)top - saved);
	for (void** p = sp; p < top + 2; p++) *p = 0;
	sp[back] = (void*)run;
	f->sp = sp;
	f->now = ready;
	f->meetings = 0;
}

extern "C" {
void burn_barrier() { wait(barrier); }
int burn_lane() { return int(current->at.lane); }

// give puts a value where the other lanes find it once all have come.
static unsigned long give(unsigned long v) {
	unsigned long n = current->meetings++ & 1;
	current->slot[n] = v;
	wait(meeting);
	return n;
}
void burn_meet() { give(0); }
unsigned burn_exchange(unsigned v, int source) {
	unsigned long n = give(v);
	fiber* first = current - current->at.lane;
	if (source < 0 || source >= lanes || first + source >= fibers + most) return 0xdeadbeefu;
	return unsigned(first[source].slot[n]);
}
void burn_gather(unsigned long v, unsigned long* all) {
	unsigned long n = give(v);
	fiber* first = current - current->at.lane;
	for (int i = 0; i < lanes; i++) all[i] = first + i < fibers + most ? first[i].slot[n] : 0;
}
unsigned long burn_vote(bool v) {
	unsigned long n = give(v), all = 0;
	fiber* first = current - current->at.lane;
	for (int i = 0; i < lanes && first + i < fibers + most; i++) all |= (first[i].slot[n] & 1) << i;
	return all;
}

// burn_run runs the threadgroups of a grid one after the other. A kernel that meets nobody runs without fibers. backward is the order of
// the threads. It returns 0, 1 where a thread ended or met its simdgroup while others wait at a barrier, 2 where it ended or waits
// at a barrier while others of its simdgroup meet.
int burn_run(entry f, void** args, const unsigned* grid, unsigned threads, int alone, int backward) {
	if (!stacks) {
		void* p = mmap(0, stack * (unsigned long)most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED) return 3;
		stacks = (char*)p;
	}
	body = f, arguments = args;
	place at = {0, 0, {0, 0, 0}, {grid[0], grid[1], grid[2]}};
	for (at.block[2] = 0; at.block[2] < grid[2]; at.block[2]++)
	for (at.block[1] = 0; at.block[1] < grid[1]; at.block[1]++)
	for (at.block[0] = 0; at.block[0] < grid[0]; at.block[0]++) {
		if (alone) {
			for (unsigned k = 0; k < threads; k++) {
				at.thread = backward ? threads - 1 - k : k;
				at.lane = at.thread % lanes;
				f(args, &at);
			}
			continue;
		}
		for (unsigned i = 0; i < threads; i++) {
			begin(&fibers[i], i);
			fibers[i].at = at;
			fibers[i].at.thread = i;
			fibers[i].at.lane = i % lanes;
		}
		for (unsigned i = threads; i % lanes; i++) fibers[i].slot[0] = fibers[i].slot[1] = 0;
		for (unsigned over = 0; over < threads;) {
			unsigned waiting = 0;
			over = 0;
			unsigned groups = (threads + lanes - 1) / lanes;
			for (unsigned k = 0; k < groups; k++) {
				unsigned g = backward ? groups - 1 - k : k, from = g * lanes, to = from + lanes < threads ? from + lanes : threads;
				for (;;) {
					unsigned count[4] = {0, 0, 0, 0};
					for (unsigned j = from; j < to; j++) {
						fiber* x = &fibers[backward ? to - 1 - (j - from) : j];
						if (x->now == ready) {
							current = x;
							burn_switch(&scheduler, x->sp);
						}
						count[x->now]++;
					}
					if (!count[meeting]) {
						waiting += count[barrier], over += count[ended];
						break;
					}
					if (count[meeting] != to - from) return 2;
					for (unsigned j = from; j < to; j++) fibers[j].now = ready;
				}
			}
			if (waiting && over) return 1;
			for (unsigned j = 0; waiting && j < threads; j++) fibers[j].now = ready;
		}
	}
	return 0;
}
}
