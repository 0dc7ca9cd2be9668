package wire

// The generators are protoc 3.21 or later, protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2, all on PATH.
//go:generate protoc --go_out=internal/pb --go_opt=paths=source_relative --go-grpc_out=internal/pb --go-grpc_opt=paths=source_relative backend.proto
