package pb

import (
	"maps"
	"math/rand"
	"os"
	"slices"
	"testing"
)

// checkModel checks what must hold for every input: decoding does not panic, and a decoded model can be encoded, decoded again and
// read.
func checkModel(t *testing.T, in []byte) {
	m, err := DecodeModel(in, Limits{MaxNodes: 1 << 12, MaxElements: 1 << 24})
	if err != nil {
		if err.Error() == "" {
			t.Fatal("an error without text")
		}
		return
	}
	first := m.Append(nil)
	again, err := DecodeModel(first, Limits{})
	if err != nil {
		t.Fatalf("decoding the encoded model: %v", err)
	}
	if second := again.Append(nil); string(first) != string(second) {
		t.Fatalf("two encodings of a model differ:\n%x\n%x", first, second)
	}
	for _, init := range m.Graph.Initializers {
		b, err := init.Bytes(nil)
		if n, _ := init.Elements(); err == nil && int64(len(b)) != n*int64(init.DataType.Size()) {
			t.Fatalf("%v %v: %d bytes", init.DataType, init.Dims, len(b))
		}
		_, _ = init.Strings()
	}
}

func FuzzDecodeModel(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x3a, 0})
	f.Add(readGolden(f, "every_field.onnx"))
	f.Add(msg(7, msg(1, msg(1, []byte("x")), msg(4, []byte("Relu")), msg(5, []byte{0x42, 2, 1, 2, 0x18, 3}))))
	f.Add(msg(7, msg(5, []byte{8, 3, 0x10, 22, 0x4a, 2, 0x12, 3})))
	f.Add(msg(7, msg(11, msg(2, msg(4, msg(1, msg(9, msg(1, msg(1, []byte{8, 1})))))))))
	f.Fuzz(checkModel)
}

// TestMutatedModels flips bits and removes bytes of real models, in places that a fuzzer takes long to reach.
func TestMutatedModels(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	models := testModels(t)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		path := models[name]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 1<<20 {
			continue // large files are mostly weights, where a change goes unnoticed
		}
		for range 20 {
			mutant := append([]byte(nil), b...)
			for range 1 + rng.Intn(8) {
				mutant[rng.Intn(len(mutant))] ^= 1 << rng.Intn(8)
			}
			if at := rng.Intn(len(mutant)); rng.Intn(3) == 0 {
				mutant = append(mutant[:at], mutant[min(len(mutant), at+1+rng.Intn(16)):]...)
			}
			checkModel(t, mutant)
		}
	}
}

func FuzzDecodeValues(f *testing.F) {
	f.Add(readGolden(f, "sequence.pb"))
	f.Add(readGolden(f, "optional.pb"))
	f.Add(small().Append(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		if s, err := DecodeSequence(in, Limits{}); err == nil {
			if _, err := DecodeSequence(s.Append(nil), Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		if o, err := DecodeOptional(in, Limits{}); err == nil {
			if _, err := DecodeOptional(o.Append(nil), Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		if d, err := DecodeTensor(in, Limits{MaxElements: 1 << 24}); err == nil {
			_, _ = d.Bytes(nil)
			_, _ = d.Strings()
		}
	})
}
