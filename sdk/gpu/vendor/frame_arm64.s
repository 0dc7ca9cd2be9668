#include "textflag.h"

// callFrame is called by C code on a system stack, by the AAPCS64 convention: R0 holds a *Frame.
GLOBL ·callFrame(SB), NOPTR|RODATA, $8
DATA ·callFrame(SB)/8, $callFrameCode(SB)
TEXT callFrameCode(SB), NOSPLIT|NOFRAME, $0
	SUB  $192, RSP // 22 arguments, and two registers
	STP  (R29, R30), 176(RSP)
	ADD  $176, RSP, R29
	MOVD R0, R9
	ADD  $72, R9, R11
	MOVD RSP, R12
	MOVD $22, R13

stack:
	MOVD.P 8(R11), R10
	MOVD.P R10, 8(R12)
	SUB    $1, R13
	CBNZ   R13, stack

	MOVD 0(R9), R10
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 32(R9), R3
	MOVD 40(R9), R4
	MOVD 48(R9), R5
	MOVD 56(R9), R6
	MOVD 64(R9), R7
	CALL (R10)

	LDP 176(RSP), (R29, R30)
	ADD $192, RSP
	RET
