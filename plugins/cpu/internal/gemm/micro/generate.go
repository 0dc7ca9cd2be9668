package micro

//go:generate go run -C ../../../../../tools/avo . -set gemm/micro -level avx512 -pkg micro -out ../../plugins/cpu/internal/gemm/micro/zavx512_amd64.s -stubs ../../plugins/cpu/internal/gemm/micro/zavx512_amd64.go
//go:generate go run -C ../../../../../tools/avo . -set gemm/micro -level avx2 -pkg micro -out ../../plugins/cpu/internal/gemm/micro/zavx2_amd64.s -stubs ../../plugins/cpu/internal/gemm/micro/zavx2_amd64.go
