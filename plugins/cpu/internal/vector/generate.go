package vector

//go:generate go run -C ../../../../tools/avo . -set vector -level avx512 -pkg vector -out ../../plugins/cpu/internal/vector/zavx512_amd64.s -stubs ../../plugins/cpu/internal/vector/zavx512_amd64.go
//go:generate go run -C ../../../../tools/avo . -set vector -level avx2 -pkg vector -out ../../plugins/cpu/internal/vector/zavx2_amd64.s -stubs ../../plugins/cpu/internal/vector/zavx2_amd64.go
//go:generate go run ../../../../tools/neon -out zneon_arm64.s -stubs zneon_arm64.go
