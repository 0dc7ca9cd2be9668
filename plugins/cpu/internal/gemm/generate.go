package gemm

//go:generate go run -C ../../../../tools/avo . -level avx512 -pkg gemm -out ../../plugins/cpu/internal/gemm/zavx512_amd64.s -stubs ../../plugins/cpu/internal/gemm/zavx512_amd64.go
//go:generate go run -C ../../../../tools/avo . -level avx2 -pkg gemm -out ../../plugins/cpu/internal/gemm/zavx2_amd64.s -stubs ../../plugins/cpu/internal/gemm/zavx2_amd64.go
