module compare/nethttp

go 1.22

require compare/protocol v0.0.0

replace compare/protocol => ../common/go
