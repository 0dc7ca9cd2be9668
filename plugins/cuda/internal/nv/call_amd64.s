#include "textflag.h"

// call16 is called by C code on a system stack, by the System V convention: DI holds a *frame.
GLOBL ·call16(SB), NOPTR|RODATA, $8
DATA ·call16(SB)/8, $call16code(SB)
TEXT call16code(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	SUBQ  $80, SP // 10 arguments; the stack stays aligned to 16 bytes
	MOVQ  DI, R11

	MOVQ 56(R11), R10
	MOVQ R10, 0(SP)
	MOVQ 64(R11), R10
	MOVQ R10, 8(SP)
	MOVQ 72(R11), R10
	MOVQ R10, 16(SP)
	MOVQ 80(R11), R10
	MOVQ R10, 24(SP)
	MOVQ 88(R11), R10
	MOVQ R10, 32(SP)
	MOVQ 96(R11), R10
	MOVQ R10, 40(SP)
	MOVQ 104(R11), R10
	MOVQ R10, 48(SP)
	MOVQ 112(R11), R10
	MOVQ R10, 56(SP)
	MOVQ 120(R11), R10
	MOVQ R10, 64(SP)
	MOVQ 128(R11), R10
	MOVQ R10, 72(SP)

	MOVQ 0(R11), R10
	MOVQ 8(R11), DI
	MOVQ 16(R11), SI
	MOVQ 24(R11), DX
	MOVQ 32(R11), CX
	MOVQ 40(R11), R8
	MOVQ 48(R11), R9
	XORL AX, AX
	CALL R10

	MOVQ BP, SP
	POPQ BP
	RET
