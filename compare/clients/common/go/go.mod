module compare/protocol

go 1.22
