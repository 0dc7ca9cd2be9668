package winograd

//go:generate go run -C ../../../../tools/avo . -set winograd -level avx512 -pkg winograd -out ../../plugins/cpu/internal/winograd/zavx512_amd64.s -stubs ../../plugins/cpu/internal/winograd/zavx512_amd64.go
//go:generate go run -C ../../../../tools/avo . -set winograd -level avx2 -pkg winograd -out ../../plugins/cpu/internal/winograd/zavx2_amd64.s -stubs ../../plugins/cpu/internal/winograd/zavx2_amd64.go
