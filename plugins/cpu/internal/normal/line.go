package normal

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// float32s gives slices as float32, if they are and this processor has loops for them.
func float32s[T float](x []T) ([]float32, bool) {
	f, ok := any(x).([]float32)
	return f, ok && vector.Has()
}

// standardiseLine is standardise in assembly.
func standardiseLine(y, x []float32, epsilon float64) {
	mean := float32(vector.Total(x) / float64(len(x)))
	vector.Standard(y, x, mean, float32(1/math.Sqrt(vector.Squares(x, mean)/float64(len(x))+epsilon)))
}

// rmsLine is rms in assembly.
func rmsLine(y, x []float32, epsilon float64) {
	vector.Standard(y, x, 0, float32(1/math.Sqrt(vector.Squares(x, 0)/float64(len(x))+epsilon)))
}

// softmaxOf is softmaxLine in assembly.
func softmaxOf(y, x []float32) {
	sum := vector.ExpSub(y, x, vector.Greatest(x))
	vector.Div().To(y, y, sum)
}

// part is the elements of a line that are exponentiated at a time.
const part = 512

// logSoftmaxOf is logSoftmaxLine in assembly.
func logSoftmaxOf(y, x []float32) {
	m := vector.Greatest(x)
	var sum float64
	var room [part]float32
	for i := 0; i < len(x); i += part {
		some := x[i:min(i+part, len(x))]
		sum += float64(vector.ExpSub(room[:len(some)], some, m))
	}
	vector.Standard(y, x, m, 1)
	vector.Sub().To(y, y, float32(math.Log(sum)))
}
