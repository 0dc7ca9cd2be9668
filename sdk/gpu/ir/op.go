package ir

// Op is the operation of an instruction.
type Op uint8

// Values. T is Inst.Type, the type of the results.
const (
	Invalid Op = iota
	Const      // Imm: the bits of a T
	Scalar     // parameter Ref of the launch
	Thread     // number of the thread in its block, i32
	Block      // number of the block along axis Imm, i32
	Blocks     // number of blocks along axis Imm, i32
)

// Arithmetic, elementwise on operands of type T. Integers wrap around. Div and Rem of integers truncate toward zero, and their divisor is
// not 0; Rem of floats is C's fmod. Min and Max of floats return either operand when one is NaN. The count of a shift has type T too and is
// less than the width; Shr of signed types is arithmetic. Comparisons return bool and are false for NaN, except Ne. For bool there are only
// And, Or, Xor, Not and the comparisons (false < true). Select, Cast and Bitcast exist for every type of package dtype.
const (
	Add Op = iota + 16
	Sub
	Mul
	Div
	Rem
	Min
	Max
	Neg
	Abs
	FMA // a·b + c, rounded once; integers wrap around
	MulHi
	And
	Or
	Xor
	Not
	Shl
	Shr
	Eq
	Ne
	Lt
	Le
	Select  // bool, T, T
	Cast    // value to T: floats round to nearest even, integers to f16 and bf16 by way of f32; floats to integers truncate and are in range; integers wrap around; bool is 0 or 1; x != 0 to bool
	Bitcast // value with the same bits and size as T
)

// Functions of f32 and f64.
const (
	Exp Op = iota + 64
	Exp2
	Expm1
	Log
	Log2
	Log1p
	Sqrt
	Rsqrt
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Erf
	Floor
	Ceil
	Trunc
	Round // half to even
	Pow
	Atan2
	Erfc     // 1 - Erf, with full precision where the result is small
	Maximum  // NaN if one operand is NaN; orders +0 above -0
	Minimum  // NaN if one operand is NaN; orders -0 below +0
	Exp2Fast // Exp2 of f32; results below 2^-126 may be 0
)

// Memory. An index counts elements. Load and Store with Width w move w neighbouring elements. w is a power of two, and w·size is at most
// 16 bytes. The address is a multiple of w·size.
const (
	Load        Op = iota + 96 // buffer Ref: index -> Width values
	Store                      // buffer Ref: index, Width values
	SharedLoad                 // shared array Ref: index -> Width values
	SharedStore                // shared array Ref: index, Width values
	LocalLoad                  // local array Ref: index -> value
	LocalStore                 // local array Ref: index, value
	AtomicAdd                  // buffer Ref: index, value -> old value; for all types of numbers; the sum is rounded to the type
	AtomicMin                  // buffer Ref: index, value -> old value; the minimum is stored
	AtomicMax                  // buffer Ref: index, value -> old value; the maximum is stored
	AtomicSwap                 // buffer Ref: index, expected, new -> old value; new is stored if the old value equals expected
	SharedAdd                  // shared array Ref, atomically: index, value -> old value
	AsyncCopy                  // shared array Ref: index; buffer Ref2: index; Width elements, 4, 8 or 16 bytes, asynchronously; source and destination must not change until AsyncWait
	AsyncCommit                // makes one group of the copies since the last AsyncCommit
	AsyncWait                  // waits until at most Imm groups of this thread are pending; other threads see the copies after a barrier
)

// Cooperation.
const (
	Barrier         Op = iota + 128 // waits for all threads of the block; afterwards they see earlier writes to shared memory and buffers
	SubgroupBarrier                 // waits for all threads of the subgroup
	Lane                            // number of the thread in its subgroup, i32
	ShuffleXor                      // value of lane^Imm
	ShuffleUp                       // value of lane-Imm; own value if lane < Imm
	ShuffleFrom                     // value, i32 lane: value of that lane
	Ballot                          // bool -> u32 with bit k set where lane k has true; subgroups of at most 32 threads
	PopCount                        // u32 -> u32, the number of bits that are set
)

// Control.
const (
	For   Op = iota + 160 // lo, hi: Body for Out[0] = lo, lo+Imm, ... below hi. Unroll makes copies of Body.
	If                    // bool: Body, else Else
	While                 // runs Head, and if Args[0] is then true, runs Body and repeats; Args[0] is defined in Head or outside; Body must not use the values of Head
)

// Matrix fragments: the threads of a subgroup hold a matrix together, and execute these operations together. Operands are equal in all of
// these threads, except the operands of FragSet. Ref names a fragment array and Args[0] its element; the rule for this index is the same as
// for local arrays. Products are exact, and sums are computed at least in f32; factors of f32 lose the lowest 13 bits. Threads see stores
// of other threads to shared memory after a SubgroupBarrier or Barrier; this includes FragLoad and FragStore. Rows that FragLoad reads, or
// columns of a transposed matrix, begin at multiples of 16 bytes.
const (
	FragFill  Op = iota + 192 // index, f32 value
	FragLoad                  // index, offset, row stride: from shared array Ref2; Imm 1: the matrix is stored transposed; Width 2: also the next element, from the columns to the right
	FragMMA                   // index of C, index of A, index of B: C of Ref += A of Ref2 · B of Imm
	FragStore                 // index, offset, row stride: C to shared array Ref2 of f32
	FragGet                   // index: element Imm of this thread's part of a C, f32; MMA.Accumulator returns its place
	FragSet                   // index, value: sets element Imm of this thread's part of a C
	FragPack                  // index of A, index of C: fills A of Ref with neighbouring Cs of Ref2, from that index on, rounded to the type of A
)
