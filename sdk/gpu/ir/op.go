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

// Arithmetic, elementwise on operands of type T. Integers wrap around. Div and Rem of integers truncate toward zero, and their divisor
// is not 0; Rem of floats is C's fmod. Min and Max of floats return either operand when one is NaN. Shifts are by less than the width,
// which has type T too; Shr of signed types is arithmetic. Comparisons return bool and are false for NaN, except Ne. Of these, bool has
// And, Or, Xor, Not and the comparisons (false < true), and every type of package dtype has Select, Cast and Bitcast.
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
	FMA // a·b + c, rounded once; of integers it wraps around
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
	Bitcast // the same bits as a T of the same size
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
	Erfc     // 1 - Erf, with all digits where that is small
	Maximum  // NaN where either is, and +0 above -0
	Minimum  // NaN where either is, and -0 below +0
	Exp2Fast // of f32: Exp2; results below 2^-126 may be 0
)

// Memory. An index counts elements. Load and Store with Width w move w neighbouring elements, w·size being 2, 4, 8 or 16
// bytes or w being 1; the address is a multiple of w·size.
const (
	Load        Op = iota + 96 // buffer Ref: index -> Width values
	Store                      // buffer Ref: index, Width values
	SharedLoad                 // shared array Ref: index -> Width values
	SharedStore                // shared array Ref: index, Width values
	LocalLoad                  // local array Ref: index -> value
	LocalStore                 // local array Ref: index, value
	AtomicAdd                  // buffer Ref: index, value -> old value; of all numbers, and rounded to their type
	AtomicMin                  // buffer Ref: index, value -> old value; the minimum is stored
	AtomicMax                  // buffer Ref: index, value -> old value; the maximum is stored
	AtomicSwap                 // buffer Ref: index, expected, new -> old value; new is stored if that equals expected
	SharedAdd                  // shared array Ref, atomically: index, value -> old value
	AsyncCopy                  // shared array Ref: index; buffer Ref2: index; Width elements, 4, 8 or 16 bytes, in the background; neither changes until then
	AsyncCommit                // makes a group of the copies since the last one
	AsyncWait                  // until at most Imm groups of this thread are pending; a barrier shows the copies to other threads
)

// Cooperation.
const (
	Barrier         Op = iota + 128 // of the block; the block sees shared memory and buffers that were written before it
	SubgroupBarrier                 // of the subgroup
	Lane                            // number of the thread in its subgroup, i32
	ShuffleXor                      // value of lane^Imm
	ShuffleUp                       // value of lane-Imm, its own below Imm
	ShuffleFrom                     // value, i32 lane: value of that lane
	Ballot                          // bool -> u32 with bit k set where lane k has true; subgroups of at most 32 threads
	PopCount                        // u32 -> u32, the number of bits that are set
)

// Control.
const (
	For   Op = iota + 160 // lo, hi: Body for Out[0] = lo, lo+Imm, ... below hi. Unroll makes copies of Body.
	If                    // bool: Body, else Else
	While                 // Head, then Body while Args[0] is true, which Head defines or what is around it; Body does not see Head's values
)

// Matrix fragments: the threads of a subgroup hold a matrix together, and execute these operations together. Operands are the same for
// all of them, except FragSet's. Ref names a fragment array and Args[0] its element, an index as of local arrays. Products are exact
// and sums are of f32 at least; factors of f32 lose the lowest 13 bits. Threads see stores of others to shared memory after a
// SubgroupBarrier or Barrier, FragLoad and FragStore included. Rows that FragLoad reads, or columns of a transposed matrix, begin at
// multiples of 16 bytes.
const (
	FragFill  Op = iota + 192 // index, f32 value
	FragLoad                  // index, offset, row stride: from shared array Ref2; Imm 1: the matrix is stored transposed; Width 2: and the next element, from the columns to the right
	FragMMA                   // index of C, index of A, index of B: C of Ref += A of Ref2 · B of Imm
	FragStore                 // index, offset, row stride: C to shared array Ref2 of f32
	FragGet                   // index: element Imm of this thread's part of a C, f32; MMA.Accumulator says which one that is
	FragSet                   // index, value: sets element Imm of this thread's part of a C
	FragPack                  // index of A, index of C: A of Ref = the neighbouring Cs of Ref2 from there on, as many as fill it, rounded
)
