#include "textflag.h"

// runFrames is called by C code on a system stack, by the System V convention: DI holds a *batch. It calls the frames of the batch in
// order, ends behind the first that does not return 0, and leaves the number of those that have not returned 0 in batch.left.
GLOBL ·runFrames(SB), NOPTR|RODATA, $8
DATA ·runFrames(SB)/8, $runFramesCode(SB)
TEXT runFramesCode(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	SUBQ  $88, SP // 10 arguments; the stack stays aligned to 16 bytes
	MOVQ  DI, R13
	MOVQ  0(R13), BX
	MOVQ  8(R13), R12

next:
	TESTQ R12, R12
	JZ    done

	MOVQ 56(BX), R10
	MOVQ R10, 0(SP)
	MOVQ 64(BX), R10
	MOVQ R10, 8(SP)
	MOVQ 72(BX), R10
	MOVQ R10, 16(SP)
	MOVQ 80(BX), R10
	MOVQ R10, 24(SP)
	MOVQ 88(BX), R10
	MOVQ R10, 32(SP)
	MOVQ 96(BX), R10
	MOVQ R10, 40(SP)
	MOVQ 104(BX), R10
	MOVQ R10, 48(SP)
	MOVQ 112(BX), R10
	MOVQ R10, 56(SP)
	MOVQ 120(BX), R10
	MOVQ R10, 64(SP)
	MOVQ 128(BX), R10
	MOVQ R10, 72(SP)

	MOVSD 136(BX), X0
	MOVSD 144(BX), X1

	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	MOVQ  160(BX), R10
	TESTQ $1, R10
	JZ    first
	MOVQ  0(DI), DI

first:
	TESTQ $2, R10
	JZ    second
	MOVQ  0(SI), SI

second:
	MOVQ 0(BX), R10
	MOVL $2, AX
	CALL R10
	MOVQ AX, 152(BX)
	TESTL AX, AX
	JNZ  done
	ADDQ $168, BX
	DECQ R12
	JMP  next

done:
	MOVQ R12, 16(R13)
	ADDQ $88, SP
	POPQ R13
	POPQ R12
	POPQ BX
	POPQ BP
	RET
