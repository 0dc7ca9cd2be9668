#include "textflag.h"

// Both tiles have eight rows and three vectors of columns. Registers: V0 to V2
// a row of B, V3 an element of A in all lanes, V8 to V31 the sums, row by row.

#define ROW32(x, y, z) \
	VLD1R.P 4(R1), [V3.S4]; \
	VFMLA V3.S4, V0.S4, x; \
	VFMLA V3.S4, V1.S4, y; \
	VFMLA V3.S4, V2.S4, z

#define STEP32 \
	VLD1.P 48(R2), [V0.S4, V1.S4, V2.S4]; \
	ROW32(V8.S4, V9.S4, V10.S4); \
	ROW32(V11.S4, V12.S4, V13.S4); \
	ROW32(V14.S4, V15.S4, V16.S4); \
	ROW32(V17.S4, V18.S4, V19.S4); \
	ROW32(V20.S4, V21.S4, V22.S4); \
	ROW32(V23.S4, V24.S4, V25.S4); \
	ROW32(V26.S4, V27.S4, V28.S4); \
	ROW32(V29.S4, V30.S4, V31.S4)

// ADD32 adds a row of C to its sums: one times C, with the ones in V3.
#define ADD32(x, y, z) \
	VLD1 (R6), [V0.S4, V1.S4, V2.S4]; \
	VFMLA V3.S4, V0.S4, x; \
	VFMLA V3.S4, V1.S4, y; \
	VFMLA V3.S4, V2.S4, z; \
	ADD R4, R6

#define ROW64(x, y, z) \
	VLD1R.P 8(R1), [V3.D2]; \
	VFMLA V3.D2, V0.D2, x; \
	VFMLA V3.D2, V1.D2, y; \
	VFMLA V3.D2, V2.D2, z

#define STEP64 \
	VLD1.P 48(R2), [V0.D2, V1.D2, V2.D2]; \
	ROW64(V8.D2, V9.D2, V10.D2); \
	ROW64(V11.D2, V12.D2, V13.D2); \
	ROW64(V14.D2, V15.D2, V16.D2); \
	ROW64(V17.D2, V18.D2, V19.D2); \
	ROW64(V20.D2, V21.D2, V22.D2); \
	ROW64(V23.D2, V24.D2, V25.D2); \
	ROW64(V26.D2, V27.D2, V28.D2); \
	ROW64(V29.D2, V30.D2, V31.D2)

#define ADD64(x, y, z) \
	VLD1 (R6), [V0.D2, V1.D2, V2.D2]; \
	VFMLA V3.D2, V0.D2, x; \
	VFMLA V3.D2, V1.D2, y; \
	VFMLA V3.D2, V2.D2, z; \
	ADD R4, R6

#define ZERO(a, b, c, d) \
	VEOR a, a, a; \
	VEOR b, b, b; \
	VEOR c, c, c; \
	VEOR d, d, d

#define ZEROS \
	ZERO(V8.B16, V9.B16, V10.B16, V11.B16); \
	ZERO(V12.B16, V13.B16, V14.B16, V15.B16); \
	ZERO(V16.B16, V17.B16, V18.B16, V19.B16); \
	ZERO(V20.B16, V21.B16, V22.B16, V23.B16); \
	ZERO(V24.B16, V25.B16, V26.B16, V27.B16); \
	ZERO(V28.B16, V29.B16, V30.B16, V31.B16)

#define ARGUMENTS \
	MOVD k+0(FP), R0; \
	MOVD a+8(FP), R1; \
	MOVD b+16(FP), R2; \
	MOVD c+24(FP), R3; \
	MOVD ldc+32(FP), R4; \
	MOVBU accumulate+40(FP), R5

// func tile32NEON(k int, a, b, c *float32, ldc int, accumulate bool)
TEXT ·tile32NEON(SB), NOSPLIT, $0-41
	ARGUMENTS
	LSL  $2, R4
	ZEROS
	SUBS $4, R0
	BLT  rest

turn:
	STEP32
	STEP32
	STEP32
	STEP32
	SUBS $4, R0
	BGE  turn

rest:
	ADDS $4, R0
	BEQ  done

single:
	STEP32
	SUBS $1, R0
	BNE  single

done:
	CBZ  R5, store
	MOVD R3, R6
	MOVW $0x3f800000, R7
	VDUP R7, V3.S4
	ADD32(V8.S4, V9.S4, V10.S4)
	ADD32(V11.S4, V12.S4, V13.S4)
	ADD32(V14.S4, V15.S4, V16.S4)
	ADD32(V17.S4, V18.S4, V19.S4)
	ADD32(V20.S4, V21.S4, V22.S4)
	ADD32(V23.S4, V24.S4, V25.S4)
	ADD32(V26.S4, V27.S4, V28.S4)
	ADD32(V29.S4, V30.S4, V31.S4)

store:
	VST1 [V8.S4, V9.S4, V10.S4], (R3)
	ADD  R4, R3
	VST1 [V11.S4, V12.S4, V13.S4], (R3)
	ADD  R4, R3
	VST1 [V14.S4, V15.S4, V16.S4], (R3)
	ADD  R4, R3
	VST1 [V17.S4, V18.S4, V19.S4], (R3)
	ADD  R4, R3
	VST1 [V20.S4, V21.S4, V22.S4], (R3)
	ADD  R4, R3
	VST1 [V23.S4, V24.S4, V25.S4], (R3)
	ADD  R4, R3
	VST1 [V26.S4, V27.S4, V28.S4], (R3)
	ADD  R4, R3
	VST1 [V29.S4, V30.S4, V31.S4], (R3)
	RET

// func tile64NEON(k int, a, b, c *float64, ldc int, accumulate bool)
TEXT ·tile64NEON(SB), NOSPLIT, $0-41
	ARGUMENTS
	LSL  $3, R4
	ZEROS
	SUBS $4, R0
	BLT  rest

turn:
	STEP64
	STEP64
	STEP64
	STEP64
	SUBS $4, R0
	BGE  turn

rest:
	ADDS $4, R0
	BEQ  done

single:
	STEP64
	SUBS $1, R0
	BNE  single

done:
	CBZ  R5, store
	MOVD R3, R6
	MOVD $0x3ff0000000000000, R7
	VDUP R7, V3.D2
	ADD64(V8.D2, V9.D2, V10.D2)
	ADD64(V11.D2, V12.D2, V13.D2)
	ADD64(V14.D2, V15.D2, V16.D2)
	ADD64(V17.D2, V18.D2, V19.D2)
	ADD64(V20.D2, V21.D2, V22.D2)
	ADD64(V23.D2, V24.D2, V25.D2)
	ADD64(V26.D2, V27.D2, V28.D2)
	ADD64(V29.D2, V30.D2, V31.D2)

store:
	VST1 [V8.D2, V9.D2, V10.D2], (R3)
	ADD  R4, R3
	VST1 [V11.D2, V12.D2, V13.D2], (R3)
	ADD  R4, R3
	VST1 [V14.D2, V15.D2, V16.D2], (R3)
	ADD  R4, R3
	VST1 [V17.D2, V18.D2, V19.D2], (R3)
	ADD  R4, R3
	VST1 [V20.D2, V21.D2, V22.D2], (R3)
	ADD  R4, R3
	VST1 [V23.D2, V24.D2, V25.D2], (R3)
	ADD  R4, R3
	VST1 [V26.D2, V27.D2, V28.D2], (R3)
	ADD  R4, R3
	VST1 [V29.D2, V30.D2, V31.D2], (R3)
	RET

