#include "textflag.h"

// runFrames is called by C code on a system stack, by the AAPCS64 convention: R0 holds a *batch. It calls the frames of the batch in
// order, ends behind the first that does not return 0, and leaves the number of those that have not returned 0 in batch.left.
GLOBL ·runFrames(SB), NOPTR|RODATA, $8
DATA ·runFrames(SB)/8, $runFramesCode(SB)
TEXT runFramesCode(SB), NOSPLIT|NOFRAME, $0
	SUB  $112, RSP
	STP  (R29, R30), 96(RSP)
	STP  (R19, R20), 80(RSP)
	MOVD R21, 72(RSP)
	ADD  $96, RSP, R29
	MOVD R0, R21
	MOVD 0(R21), R19
	MOVD 8(R21), R20

next:
	CBZ R20, done

	MOVD 72(R19), R10
	MOVD R10, 0(RSP)
	MOVD 80(R19), R10
	MOVD R10, 8(RSP)
	MOVD 88(R19), R10
	MOVD R10, 16(RSP)
	MOVD 96(R19), R10
	MOVD R10, 24(RSP)
	MOVD 104(R19), R10
	MOVD R10, 32(RSP)
	MOVD 112(R19), R10
	MOVD R10, 40(RSP)
	MOVD 120(R19), R10
	MOVD R10, 48(RSP)
	MOVD 128(R19), R10
	MOVD R10, 56(RSP)

	FMOVD 136(R19), F0
	FMOVD 144(R19), F1

	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	MOVD 56(R19), R6
	MOVD 64(R19), R7
	MOVD 160(R19), R10
	TBZ  $0, R10, first
	MOVD 0(R0), R0

first:
	TBZ  $1, R10, second
	MOVD 0(R1), R1

second:
	MOVD 0(R19), R10
	CALL (R10)
	MOVD R0, 152(R19)
	CBNZW R0, done
	ADD  $168, R19
	SUB  $1, R20
	B    next

done:
	MOVD R20, 16(R21)
	MOVD 72(RSP), R21
	LDP  80(RSP), (R19, R20)
	LDP  96(RSP), (R29, R30)
	ADD  $112, RSP
	RET
