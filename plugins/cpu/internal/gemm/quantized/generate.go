package quantized

//go:generate go run -C ../../../../../tools/avo . -set gemm/quantized -level avx512 -pkg quantized -out ../../plugins/cpu/internal/gemm/quantized/zavx512_amd64.s -stubs ../../plugins/cpu/internal/gemm/quantized/zavx512_amd64.go
//go:generate go run -C ../../../../../tools/avo . -set gemm/quantized -level avx2 -pkg quantized -out ../../plugins/cpu/internal/gemm/quantized/zavx2_amd64.s -stubs ../../plugins/cpu/internal/gemm/quantized/zavx2_amd64.go
