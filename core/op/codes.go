package op

// The ops of the table. The values are local to a build: nothing outside this process may see them.
const (
	NoOp Code = iota

	// creation
	Full
	Iota
	RandomBits

	// movement
	Reshape
	Permute
	Expand
	Slice
	Pad
	Flip
	Concat
	Gather
	Scatter
	Cast
	Copy

	// unary
	Neg
	Abs
	Exp
	Log
	Log1p
	Expm1
	Sqrt
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
	Round
	Not
	IsNaN

	// binary
	Add
	Sub
	Mul
	Div
	Rem
	Pow
	Max
	Min
	Atan2
	Equal
	Less
	And
	Or
	Xor
	Shl
	Shr

	Where

	// reduction, scan, sort
	Sum
	Prod
	ReduceMax
	ReduceMin
	ArgMax
	ArgMin
	CumSum
	CumProd
	CumMax
	CumMin
	Sort

	// contraction
	MatMul
	Conv
	WindowReduce

	// composite: arithmetic
	Reciprocal
	Rsqrt
	Square
	Sign
	Trunc
	Asinh
	Acosh
	Atanh
	IsInf
	NotEqual
	Greater
	GreaterEqual
	LessEqual
	FloorMod
	Clamp

	// composite: activation
	Relu
	LeakyRelu
	PRelu
	Elu
	Selu
	Celu
	Sigmoid
	HardSigmoid
	HardSwish
	Silu
	Gelu
	Mish
	Softplus
	Softsign
	ThresholdedRelu
	Softmax
	LogSoftmax

	// composite: statistics and normalisation
	Mean
	Variance
	LogSumExp
	BatchNorm
	LayerNorm
	RMSNorm
	GroupNorm

	// composite: layers
	Linear
	AvgPool
	LSTM
	GRU

	// composite: indexing
	GatherElements
	ScatterElements
	GatherND
	ScatterND
	OneHot
	TopK

	// composite: quantization
	Quantize
	Dequantize

	// composite: statistics and search
	Std
	Median
	Quantile
	Covariance
	CorrCoef
	Histogram
	SearchSorted
	ArgSort
	LogCumSumExp
	CumArgMax
	CumArgMin
	VectorNorm
	CosineSimilarity

	// composite: random distributions
	RandomUniform
	RandomNormal
	Bernoulli
	Multinomial
	RandomBitsAt

	// composite: sums of products
	Einsum

	// composite: Fourier transforms
	FFT
	RFFT
	IRFFT
	FFTShift
	STFT
	ISTFT
	HannWindow
	HammingWindow
	BlackmanWindow
	KaiserWindow

	// composite: linear algebra
	Tril
	Triu
	Diag
	Diagonal
	Trace
	Outer
	Kron
	Cross
	Cholesky
	TriangularSolve
	LU
	Det
	SlogDet
	Inverse
	Solve
	MatrixPower
	QR
	Eigh
	SVD
	MatrixNorm
	PInv
	LstSq

	// composite: selection, whose result size depends on data
	NonZero
	Compress
	Unique
	NMS

	// composite: attention and sequences
	Attention
	CacheWrite
	RotaryEmbedding
	RNN
	Embedding

	// composite: losses
	NLLLoss
	CrossEntropyLoss
	MSELoss
	L1Loss
	HuberLoss
	SmoothL1Loss
	BCELoss
	BCEWithLogitsLoss
	KLDivLoss
	PoissonNLLLoss
	CosineEmbeddingLoss
	HingeLoss
	HingeEmbeddingLoss
	MarginRankingLoss
	TripletMarginLoss
	CTCLoss

	// composite: more activations and numbers
	GLU
	SwiGLU
	GeGLU
	HardTanh
	Relu6
	LogSigmoid
	HardShrink
	SoftShrink
	TanhShrink
	QuickGelu
	Softmin
	Hardmax
	Lerp
	Frac
	RoundAway
	Exp2
	Log2
	Log10
	LogAddExp
	FloorDiv
	IsFinite
	BitCount

	// composite: rearrangement, and normalisation by neighbours and norms
	Roll
	Tile
	RepeatInterleave
	Stack
	Extend
	MeshGrid
	Eye
	LinSpace
	LpNormalize
	LocalResponseNorm
	Dropout

	// composite: pooling
	MaxPool
	LpPool
	AdaptiveAvgPool
	AdaptiveMaxPool
	MaxUnpool

	// composite: interpolation, grids and patches
	Interpolate
	AffineGrid
	GridSample
	RoiAlign
	DeformConv
	Im2Col
	Col2Im
	DepthToSpace
	SpaceToDepth
	ChannelShuffle
	ConvTranspose

	// composite: quantized arithmetic
	DynamicQuantize
	FakeQuantize
	Requantize
	MatMulInteger
	ConvInteger
	QLinearMatMul
	QLinearConv

	// composite: gradients
	AttentionGradient

	endOfTable
)
