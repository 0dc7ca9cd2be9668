package normal

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// float32s returns x as []float32 if T is float32 and this processor has loops for it.
func float32s[T float](x []T) ([]float32, bool) {
	f, ok := any(x).([]float32)
	return f, ok && vector.Has()
}

// moments returns the mean and the factor that normalise a line: (x-mean)·factor has mean 0 and variance 1.
func moments(x []float32, epsilon float64) (mean, factor float32) {
	mean = float32(vector.Total(x) / float64(len(x)))
	return mean, float32(1 / math.Sqrt(vector.Squares(x, mean)/float64(len(x))+epsilon))
}

// rootMeanSquare returns the factor that scales a line to a mean square of 1.
func rootMeanSquare(x []float32, epsilon float64) float32 {
	return float32(1 / math.Sqrt(vector.Squares(x, 0)/float64(len(x))+epsilon))
}

// tailLine normalises a line in assembly; scale and bias may be nil.
func tailLine(y, x, scale, bias []float32, root bool, epsilon float64) {
	var mean, factor float32
	if root {
		factor = rootMeanSquare(x, epsilon)
	} else {
		mean, factor = moments(x, epsilon)
	}
	if scale == nil {
		vector.Standard(y, x, mean, factor)
		return
	}
	vector.StandardAffine(y, x, scale, bias, mean, factor)
}

// softmaxLines computes the softmax of lines of n elements, in assembly.
func softmaxLines(y, x []float32, n int) {
	var workspace [64]float32
	for len(y) > 0 {
		most := workspace[:min(len(y)/n, len(workspace))]
		if n <= vector.RowLimit {
			vector.Maxima.OfRows(most, x, n, n)
		} else {
			most = most[:1]
			most[0] = vector.Greatest(x[:n])
		}
		for r, m := range most {
			line := y[r*n:][:n]
			sum := vector.ExpSub(line, x[r*n:][:n], m)
			vector.Standard(line, line, 0, 1/sum)
		}
		y, x = y[len(most)*n:], x[len(most)*n:]
	}
}

// part is the number of elements of a line that are exponentiated at a time.
const part = 512

// logSoftmaxOf is like logSoftmaxLine, in assembly.
func logSoftmaxOf(y, x []float32) {
	m := vector.Greatest(x)
	var sum float64
	var workspace [part]float32
	for i := 0; i < len(x); i += part {
		some := x[i:min(i+part, len(x))]
		sum += float64(vector.ExpSub(workspace[:len(some)], some, m))
	}
	vector.Standard(y, x, m, 1)
	vector.Standard(y, y, float32(math.Log(sum)), 1)
}

// logSoftmaxLines applies logSoftmaxOf to each line.
func logSoftmaxLines(y, x []float32, n int) {
	for i := 0; i < len(y); i += n {
		logSoftmaxOf(y[i:i+n], x[i:i+n])
	}
}
