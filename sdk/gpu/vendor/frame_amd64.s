#include "textflag.h"

// callFrame is called by C code on a system stack, by the System V convention: DI holds a *Frame.
GLOBL ·callFrame(SB), NOPTR|RODATA, $8
DATA ·callFrame(SB)/8, $callFrameCode(SB)
TEXT callFrameCode(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	SUBQ  $192, SP // 24 arguments; the stack stays aligned to 16 bytes
	MOVQ  DI, R11
	MOVQ  SP, R9
	MOVQ  $24, CX

stack:
	MOVQ 48(R11)(CX*8), R10
	MOVQ R10, -8(R9)(CX*8)
	SUBQ $1, CX
	JNZ  stack

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
